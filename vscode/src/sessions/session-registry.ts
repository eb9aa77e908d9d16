// All sessions of the user, kept current while the server runs. Never starts a server.

import type { SessionSummary } from "../../../web/src/generated/portico/v1/agent_pb";
import type { AgentClient, ServerConnection } from "../server/connection";
import type { Server } from "../server/server";
import { ReconnectingStream } from "../server/reconnecting-stream";
import { Observable, type ReadonlyObservable } from "../observable";
import { changedAt } from "../../../web/src/model/session-summary";

export type SessionMap = ReadonlyMap<string, SessionSummary>;

const LISTED = 200;

export class SessionRegistry {
  readonly #sessions = new Observable<SessionMap>(new Map());
  readonly #stream: ReconnectingStream;

  constructor(server: Server, connection: ServerConnection) {
    this.#stream = new ReconnectingStream(server, connection, this.#watch.bind(this));
  }

  get all(): ReadonlyObservable<SessionMap> {
    return this.#sessions;
  }

  /** Newest change first. */
  newest(): readonly SessionSummary[] {
    return [...this.#sessions.value.values()].sort((one, other) => changedAt(other) - changedAt(one));
  }

  dispose(): void {
    this.#stream.dispose();
  }

  /** The second list has the changes between the first list and the start of the stream. */
  async #watch(client: AgentClient, signal: AbortSignal, heard: () => void): Promise<void> {
    const list = async (): Promise<void> => {
      const { sessions } = await client.listSessions({ limit: LISTED }, { signal });
      this.#sessions.set(new Map(sessions.map((session) => [session.sessionId, session])));
    };
    await list();
    let first = true;
    for await (const { change } of client.watchSessions({}, { signal })) {
      heard();
      if (first) await list();
      first = false;
      if (change.case === "changed") this.#take(change.value);
      if (change.case === "removedSessionId") this.#remove(change.value);
    }
  }

  /** The list may know it better already. */
  #take(session: SessionSummary): void {
    const { value } = this.#sessions;
    const known = value.get(session.sessionId);
    if (known === undefined || changedAt(session) >= changedAt(known))
      this.#sessions.set(new Map(value).set(session.sessionId, session));
  }

  #remove(sessionId: string): void {
    const next = new Map(this.#sessions.value);
    if (next.delete(sessionId)) this.#sessions.set(next);
  }
}
