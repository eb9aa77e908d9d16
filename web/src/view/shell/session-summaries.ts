// Summaries of all sessions seen by this page, independent of the current search.

import { signal, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { SessionSummary } from "../../generated/portico/v1/agent_pb";

export type SummaryMap = ReadonlyMap<string, SessionSummary>;

export class SessionSummaries {
  readonly #gateway: Gateway;
  readonly #known = signal<SummaryMap>(new Map());
  readonly #asked = new Set<string>();

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  get known(): ReadonlySignal<SummaryMap> {
    return this.#known;
  }

  take(sessions: readonly SessionSummary[]): void {
    const before = this.#known.peek();
    if (sessions.every((one) => before.get(one.sessionId) === one)) return;
    this.#known.value = new Map([...before, ...sessions.map((one) => [one.sessionId, one] as const)]);
  }

  /** Asks for sessions that are too old to be on the list. Whatever is not there stays unknown. */
  async ask(sessionIds: readonly string[]): Promise<void> {
    const unknown = sessionIds.filter((id) => !this.#known.peek().has(id) && !this.#asked.has(id));
    await Promise.all(unknown.map((sessionId) => this.#ask(sessionId)));
  }

  async #ask(sessionId: string): Promise<void> {
    this.#asked.add(sessionId);
    try {
      const { session } = await this.#gateway.client.getSession({ sessionId });
      if (session?.summary !== undefined && !this.#known.peek().has(sessionId)) this.take([session.summary]);
    } catch {
      // Opening its tab shows why.
      this.#asked.delete(sessionId);
    }
  }
}
