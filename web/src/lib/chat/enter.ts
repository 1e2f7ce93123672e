/** A key press in a text field, as far as Enter and the IME are concerned. */
export interface Press {
  enter: boolean;
  /** Shift, Ctrl, Alt or Meta is held. */
  modified: boolean;
  /** The IME composes (`isComposing`). */
  composing: boolean;
  /** The IME has taken the key (`keyCode` 229). */
  taken: boolean;
  /** Milliseconds, of one clock. */
  at: number;
}

/** `send`: send the text, and prevent the key. `swallow`: prevent it and do nothing else. `pass`: the key is the browser's. */
export type Verdict = 'send' | 'swallow' | 'pass';

/** Time after a composition within which its Enter may come a second time. */
const echoMs = 80;

/**
 * Decides whether Enter sends. One Enter after Hangul sends once: while a syllable is composed, it confirms the syllable and sends, because a
 * Korean IME has nothing else to confirm. Enter in the candidate window of a Chinese or Japanese IME only confirms. Some systems report that
 * Enter again after the composition has ended, or only then.
 */
export class EnterKey {
  #wanted = false;
  #sentAt = -Infinity;
  #ended: { hangul: boolean; at: number } | null = null;

  /** A key goes down. `empty`: the field is empty. */
  down(press: Press, empty: boolean): Verdict {
    const ended = this.#ended;
    this.#ended = null;
    if (!press.enter || press.modified) {
      this.#wanted = false;
      return 'pass';
    }
    if (press.composing) {
      this.#wanted = true;
      return 'pass';
    }
    if (empty && press.at - this.#sentAt < echoMs) return 'swallow';
    if (press.taken) {
      // The composition ended before its Enter was reported.
      const own = ended !== null && press.at - ended.at < echoMs;
      return own && ended.hangul ? this.#send(press.at) : 'swallow';
    }
    return this.#send(press.at);
  }

  /** A composition ends with a text. True: send, once the field has it. */
  ended(text: string, at: number): boolean {
    const hangul = /\p{Script=Hangul}$/u.test(text);
    const wanted = this.#wanted;
    this.#wanted = false;
    this.#ended = { hangul, at };
    if (!wanted || !hangul) return false;
    this.#sentAt = at;
    return true;
  }

  /** Whether a line break that is about to be inserted belongs to the Enter that has sent. */
  swallows(empty: boolean, at: number): boolean {
    return empty && at - this.#sentAt < echoMs;
  }

  #send(at: number): Verdict {
    this.#sentAt = at;
    return 'send';
  }
}
