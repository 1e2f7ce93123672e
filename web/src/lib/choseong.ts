const initials = 'ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ';

/** Initial consonants of Korean syllables; other characters as they are: 이든 is ㅇㄷ. */
export const choseong = (text: string): string =>
  [...text]
    .map((char) => {
      const code = char.codePointAt(0)! - 0xac00;
      return code >= 0 && code < 11172 ? initials[Math.floor(code / 588)]! : char;
    })
    .join('');

/** Whether a name contains what was typed, in letters or in initial consonants (ㅇㄷ finds 이든). */
export function matches(name: string, typed: string): boolean {
  const wanted = typed.trim().toLowerCase();
  if (wanted === '') return false;
  const lower = name.toLowerCase();
  return lower.includes(wanted) || (/^[ㄱ-ㅎ]+$/.test(wanted) && choseong(lower).includes(wanted));
}
