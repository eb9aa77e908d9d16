// A small seeded generator, so that a property test that fails can be run again.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 up to, but not including, the limit. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** The text in pieces of random length, from one character to `longest`. */
  cut(text: string, longest: number): string[] {
    const pieces: string[] = [];
    for (let from = 0; from < text.length;) {
      const length = 1 + this.below(longest);
      pieces.push(text.slice(from, from + length));
      from += length;
    }
    return pieces;
  }
}
