// All sessions of the user, as they change, for as long as the server runs. It never starts one.

import type { SessionSummary } from "../../../web/src/generated/portico/v1/agent_pb";
import type { Link } from "../server/link";
import type { Server } from "../server/server";
import { Told, type Listened } from "../told";

export type Sessions = ReadonlyMap<string, SessionSummary>;

const LISTED = 200;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;

export class LiveSessions {
  readonly #link: Link;
  readonly #server: Server;
  readonly #sessions = new Told<Sessions>(new Map());
  readonly #stop: () => void;
  #following: AbortController | undefined;

  constructor(server: Server, link: Link) {
    this.#server = server;
    this.#link = link;
    this.#stop = server.state.listen(({ state }) => {
      if (state === "running") void this.#follow();
      else if (state !== "starting") this.#leave();
    });
  }

  get sessions(): Listened<Sessions> {
    return this.#sessions;
  }

  /** Newest change first. */
  newest(): readonly SessionSummary[] {
    return [...this.#sessions.value.values()].sort((one, other) => changedAt(other) - changedAt(one));
  }

  dispose(): void {
    this.#stop();
    this.#leave();
  }

  #leave(): void {
    this.#following?.abort();
    this.#following = undefined;
  }

  async #follow(): Promise<void> {
    this.#leave();
    const following = new AbortController();
    this.#following = following;
    const { signal } = following;
    let wait = FIRST_WAIT;
    while (!signal.aborted && this.#server.state.value.state === "running") {
      try {
        await this.#watch(signal, () => (wait = FIRST_WAIT));
      } catch {
        // A server that went away has told so to everybody; whatever else it was is tried again.
      }
      await pause(wait, signal);
      wait = Math.min(LONGEST_WAIT, wait * 2);
    }
  }

  /** What changes between the list and the first word of the stream is in the second list. */
  async #watch(signal: AbortSignal, heard: () => void): Promise<void> {
    await this.#link.call(async (client) => {
      await this.#list(() => client.listSessions({ limit: LISTED }, { signal }));
      let first = true;
      for await (const { change } of client.watchSessions({}, { signal })) {
        heard();
        if (first) await this.#list(() => client.listSessions({ limit: LISTED }, { signal }));
        first = false;
        if (change.case === "changed") this.#take([change.value]);
        if (change.case === "removedSessionId") this.#remove(change.value);
      }
    });
  }

  async #list(ask: () => Promise<{ readonly sessions: SessionSummary[] }>): Promise<void> {
    this.#take((await ask()).sessions);
  }

  #take(changed: readonly SessionSummary[]): void {
    const next = new Map(this.#sessions.value);
    for (const session of changed) {
      const known = next.get(session.sessionId);
      if (known === undefined || changedAt(session) >= changedAt(known)) next.set(session.sessionId, session);
    }
    this.#sessions.set(next);
  }

  #remove(sessionId: string): void {
    const next = new Map(this.#sessions.value);
    if (next.delete(sessionId)) this.#sessions.set(next);
  }
}

function changedAt({ updatedAt }: SessionSummary): number {
  return updatedAt === undefined ? 0 : Number(updatedAt.seconds) * 1e6 + Math.floor(updatedAt.nanos / 1e3);
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end, { once: true });
  });
}
