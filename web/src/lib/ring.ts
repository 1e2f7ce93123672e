/** The last items that were pushed, at most `capacity`. */
export class Ring<T> {
  #items: T[] = [];
  #start = 0;
  #capacity: number;
  /** Number of items that were overwritten. */
  dropped = 0;

  constructor(capacity: number) {
    if (!(capacity >= 1)) throw new RangeError(`capacity of a ring: ${capacity}`);
    this.#capacity = capacity;
  }

  get length(): number {
    return this.#items.length;
  }

  push(item: T): void {
    if (this.#items.length < this.#capacity) {
      this.#items.push(item);
      return;
    }
    this.#items[this.#start] = item;
    this.#start = (this.#start + 1) % this.#capacity;
    this.dropped++;
  }

  /** Item by age: 0 is the oldest, -1 the newest. */
  at(index: number): T | undefined {
    const length = this.#items.length;
    const position = index < 0 ? length + index : index;
    if (position < 0 || position >= length) return undefined;
    return this.#items[(this.#start + position) % length];
  }

  /** Keeps the newest items only, at most `capacity`, now and later. */
  resize(capacity: number): void {
    const kept = [...this].slice(-capacity);
    this.dropped += this.#items.length - kept.length;
    this.#items = kept;
    this.#start = 0;
    this.#capacity = capacity;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let index = 0; index < this.#items.length; index++) yield this.at(index)!;
  }
}
