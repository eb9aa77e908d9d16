// A value that changes, and tells whoever listens.

export interface Listened<Value> {
  readonly value: Value;
  /** Tells every change until it is disposed of. */
  listen(listener: (value: Value, before: Value) => void): Listening;
}

export interface Listening {
  dispose(): void;
}

export class Told<Value> implements Listened<Value> {
  readonly #listeners = new Set<(value: Value, before: Value) => void>();
  #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    const before = this.#value;
    if (value === before) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener(value, before);
  }

  listen(listener: (value: Value, before: Value) => void): Listening {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }
}
