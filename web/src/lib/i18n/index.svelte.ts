/** A text in both languages. The compiler refuses one without the other. */
export type Word = { readonly ko: string; readonly en: string };

/** A text with arguments, in both languages. */
export type Phrase<A extends any[] = any[]> = {
  readonly ko: (...args: A) => string;
  readonly en: (...args: A) => string;
};

export type Language = 'ko' | 'en';
export type Words = Record<string, Word | Phrase>;

/**
 * Entries that are looked up by what an agent or a newer server wrote. An unknown key is undefined, also one such as `constructor`, which every
 * ordinary object has.
 */
export const dictionary = <T extends object>(entries: T): T => Object.assign(Object.create(null), entries) as T;

/** Checks a dictionary: each key needs `ko` and `en`, both texts or both functions. Pages keep their own beside them in words.ts. */
export const words = <T extends Words>(dictionary: T): T => dictionary;

const stored = (): Language => {
  const saved = typeof localStorage === 'undefined' ? null : localStorage.getItem('language');
  if (saved === 'ko' || saved === 'en') return saved;
  const preferred = typeof navigator === 'undefined' ? ['ko'] : navigator.languages;
  return preferred.some((tag) => tag.toLowerCase().startsWith('ko')) ? 'ko' : 'en';
};

class Locale {
  language: Language = $state(stored());
  /** IANA zone in which times are shown; the browser's unless chosen otherwise. */
  zone: string = $state(
    (typeof localStorage !== 'undefined' && localStorage.getItem('zone')) ||
      Intl.DateTimeFormat().resolvedOptions().timeZone,
  );

  set(language: Language) {
    this.language = language;
    localStorage.setItem('language', language);
  }
}

export const locale = new Locale();

/** The text in the current language. Reading it in a template or $derived follows the language. */
export function t(word: Word): string;
export function t<P extends Phrase>(phrase: P, ...args: Parameters<P['ko']>): string;
export function t(text: Word | Phrase, ...args: unknown[]): string {
  const chosen = text[locale.language];
  return typeof chosen === 'string' ? chosen : chosen(...args);
}
