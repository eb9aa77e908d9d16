// A world whose time stands still until a test moves it, and ways to wait for what does not depend on it.

import type { Cancel, Environment } from "../src/gateway/environment";

const FRAME = 16;
const DEADLINE = 5_000;

interface Timer {
  readonly at: number;
  readonly act: () => void;
}

export class TestEnvironment implements Environment {
  chance = (): number => 0.5;
  frameLength = FRAME;
  #now = 1_000_000;
  readonly #timers = new Set<Timer>();
  readonly #returning = new Set<() => void>();
  readonly #leaving = new Set<() => void>();

  now(): number {
    return this.#now;
  }

  random(): number {
    return this.chance();
  }

  after(milliseconds: number, act: () => void): Cancel {
    const timer = { at: this.#now + milliseconds, act };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Frames come in a fixed beat, whenever they are asked for. */
  frame(act: () => void): Cancel {
    return this.after(this.frameLength - (this.#now % this.frameLength), act);
  }

  onReturn(act: () => void): Cancel {
    this.#returning.add(act);
    return () => this.#returning.delete(act);
  }

  onLeave(act: () => void): Cancel {
    this.#leaving.add(act);
    return () => this.#leaving.delete(act);
  }

  /** Lets time pass: every timer that is due acts at its time, and what it starts may run in between. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    for (;;) {
      await quiet();
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.act();
    }
    this.#now = end;
    await quiet();
  }

  /** The machine sleeps: the clock goes on, timers do not. */
  sleep(milliseconds: number): void {
    this.#now += milliseconds;
    for (const timer of [...this.#timers]) {
      this.#timers.delete(timer);
      this.#timers.add({ ...timer, at: timer.at + milliseconds });
    }
  }

  comeBack(): void {
    for (const act of this.#returning) act();
  }

  leave(): void {
    for (const act of this.#leaving) act();
  }

  get waiting(): number {
    return this.#timers.size;
  }
}

/** Until everything that needs no time has happened. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 25; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Until something is so; frames are drawn meanwhile. */
export async function until(world: TestEnvironment, what: string, isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + DEADLINE;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`it never came that ${what}`);
    await world.pass(FRAME);
  }
}
