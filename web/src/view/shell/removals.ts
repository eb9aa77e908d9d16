// Sessions deleted a moment ago, which can be undone.

import { signal } from "@preact/signals";
import type { SessionSummary } from "../../generated/portico/v1/agent_pb";
import type { UnfinishedWork } from "../../model/unfinished-work";

/** Time in which a deletion can be undone. */
export const UNDO_MS = 6_000;

/** The confirmation before a session with unfinished work is deleted. */
export interface RemovalRequest {
  readonly session: SessionSummary;
  readonly work: UnfinishedWork;
}

/** Removes a session for good; with what it proposes only if that is said. */
export type RemoveSession = (sessionId: string, discardProposals: boolean) => Promise<void>;

export class PendingRemovals {
  readonly request = signal<RemovalRequest | undefined>(undefined);
  readonly pending = signal<readonly SessionSummary[]>([]);
  readonly #remove: RemoveSession;
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(remove: RemoveSession) {
    this.#remove = remove;
  }

  add(session: SessionSummary, discardProposals: boolean): void {
    this.pending.value = [...this.pending.value, session];
    this.#timers.set(
      session.sessionId,
      setTimeout(() => void this.#finish(session.sessionId, discardProposals), UNDO_MS),
    );
  }

  undo(sessionId: string): void {
    clearTimeout(this.#timers.get(sessionId));
    this.#forget(sessionId);
  }

  async #finish(sessionId: string, discardProposals: boolean): Promise<void> {
    await this.#remove(sessionId, discardProposals);
    this.#forget(sessionId);
  }

  #forget(sessionId: string): void {
    this.#timers.delete(sessionId);
    this.pending.value = this.pending.value.filter((one) => one.sessionId !== sessionId);
  }
}
