/** Korean particles, as pairs of the form after a final consonant and the form after a vowel. */
const pairs = {
  '이/가': ['이', '가'],
  '을/를': ['을', '를'],
  '은/는': ['은', '는'],
  '과/와': ['과', '와'],
  '아/야': ['아', '야'],
  '으로/로': ['으로', '로'],
} as const;

export type Particle = keyof typeof pairs;

/** Final sound of the last syllable: 0 for a vowel, 8 for ㄹ, other numbers for other consonants. Null if it cannot be read. */
function finalSound(text: string): number | null {
  const last = [...text.replace(/[^\p{L}\p{N}]+$/u, '')].at(-1);
  if (last === undefined) return null;
  const code = last.codePointAt(0)!;
  if (code >= 0xac00 && code <= 0xd7a3) return (code - 0xac00) % 28;
  // Digits as they are read in Korean: 영 일 이 삼 사 오 육 칠 팔 구.
  if (/[0-9]/.test(last)) return [21, 8, 0, 16, 0, 0, 1, 8, 8, 0][Number(last)]!;
  // Latin letters at the end of a word: l is ㄹ; b, c, k, m, n, p, t and ng end in a consonant.
  if (/[a-z]/i.test(last))
    return /l/i.test(last) ? 8 : /[bckmnpt]|ng$/i.test(text.slice(-2)) && /[bckmnptg]/i.test(last) ? 1 : 0;
  return null;
}

/** The text with the particle that its last syllable wants: `withParticle('이든', '이/가')` is `이든이`. */
export function withParticle(text: string, particle: Particle): string {
  const final = finalSound(text);
  const [consonant, vowel] = pairs[particle];
  if (final === null) return `${text}${consonant}(${vowel})`;
  if (particle === '으로/로' && final === 8) return text + vowel;
  return text + (final === 0 ? vowel : consonant);
}
