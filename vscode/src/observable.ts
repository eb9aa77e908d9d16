// A value with change listeners.

export interface ReadonlyObservable<Value> {
  readonly value: Value;
  /** Tells every change until it is disposed of. */
  listen(listener: (value: Value, before: Value) => void): Subscription;
}

export interface Subscription {
  dispose(): void;
}

export class Observable<Value> implements ReadonlyObservable<Value> {
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

  listen(listener: (value: Value, before: Value) => void): Subscription {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }
}
