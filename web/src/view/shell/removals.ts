// Sessions that the person removed a moment ago: out of sight, and not yet gone.

import { signal } from "@preact/signals";
import type { SessionSummary } from "../../generated/portico/v1/agent_pb";

/** How long an undo is offered. */
export const REGRET_MS = 6_000;

export class Removals {
  readonly pending = signal<readonly SessionSummary[]>([]);
  readonly #remove: (sessionId: string) => Promise<void>;
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(remove: (sessionId: string) => Promise<void>) {
    this.#remove = remove;
  }

  add(session: SessionSummary): void {
    this.pending.value = [...this.pending.value, session];
    this.#timers.set(
      session.sessionId,
      setTimeout(() => void this.#finish(session.sessionId), REGRET_MS),
    );
  }

  undo(sessionId: string): void {
    clearTimeout(this.#timers.get(sessionId));
    this.#forget(sessionId);
  }

  async #finish(sessionId: string): Promise<void> {
    await this.#remove(sessionId);
    this.#forget(sessionId);
  }

  #forget(sessionId: string): void {
    this.#timers.delete(sessionId);
    this.pending.value = this.pending.value.filter((one) => one.sessionId !== sessionId);
  }
}
