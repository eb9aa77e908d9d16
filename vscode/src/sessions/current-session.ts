// The current session: the one in front of the page, or the last one of this folder. The status bar, the todos and the
// changes show it.

import { equals } from "@bufbuild/protobuf";
import {
  SessionDetailSchema,
  type SessionDetail,
  type SessionSummary,
} from "../../../web/src/generated/portico/v1/agent_pb";
import type { ServerConnection } from "../server/connection";
import { Observable, type ReadonlyObservable, type Subscription } from "../observable";
import type { SessionRegistry } from "./session-registry";

/** Changes of a session that streams come many a second. */
const SETTLED = 250;

export interface CurrentSessionOptions {
  /** Whether a session belongs to this window. */
  readonly belongsHere: (session: SessionSummary) => boolean;
  readonly memory: { get(key: string): unknown; update(key: string, value: unknown): unknown };
}

const KEY = "session";

export class CurrentSession {
  readonly #connection: ServerConnection;
  readonly #sessions: SessionRegistry;
  readonly #options: CurrentSessionOptions;
  readonly #detail = new Observable<SessionDetail | undefined>(undefined);
  readonly #following: Subscription;
  #chosen: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #asked = 0;
  /** The newest question that is answered. */
  #answered = 0;

  constructor(connection: ServerConnection, sessions: SessionRegistry, options: CurrentSessionOptions) {
    this.#connection = connection;
    this.#sessions = sessions;
    this.#options = options;
    const kept = options.memory.get(KEY);
    this.#chosen = typeof kept === "string" ? kept : undefined;
    this.#following = sessions.all.listen((now, before) => {
      const wanted = this.#wanted;
      const isOther = wanted !== this.#detail.value?.summary?.sessionId;
      if (isOther || (wanted !== undefined && now.get(wanted) !== before.get(wanted))) this.#settle();
    });
  }

  get detail(): ReadonlyObservable<SessionDetail | undefined> {
    return this.#detail;
  }

  /** The session that a page showed last, also before this window was loaded. */
  get chosen(): string | undefined {
    return this.#chosen;
  }

  /** The page has brought a session to its front. */
  choose(sessionId: string): void {
    if (sessionId === this.#chosen) return;
    this.#chosen = sessionId;
    this.#options.memory.update(KEY, sessionId);
    void this.refresh();
  }

  async refresh(): Promise<void> {
    const asked = ++this.#asked;
    const sessionId = this.#wanted;
    if (sessionId === undefined) this.#show(asked, undefined);
    if (sessionId === undefined || !this.#connection.isRunning) return;
    try {
      const { session } = await this.#connection.call((client) => client.getSession({ sessionId }));
      if (sessionId === this.#wanted) this.#show(asked, session);
    } catch {
      // The session was removed, or the server is away: both are shown elsewhere.
      if (sessionId === this.#wanted && !this.#sessions.all.value.has(sessionId))
        this.#show(asked, undefined);
    }
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#following.dispose();
  }

  get #wanted(): string | undefined {
    return (
      this.#chosen ?? this.#sessions.newest().find((session) => this.#options.belongsHere(session))?.sessionId
    );
  }

  /**
   * An answer that was overtaken by a newer one is dropped; one to an earlier request may still be the last.
   * Equal values are not sent again: redrawing a list would swallow a click in progress.
   */
  #show(asked: number, detail: SessionDetail | undefined): void {
    if (asked < this.#answered) return;
    this.#answered = asked;
    const shown = this.#detail.value;
    const isSame = detail !== undefined && shown !== undefined && equals(SessionDetailSchema, detail, shown);
    if (!isSame) this.#detail.set(detail);
  }

  #settle(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.refresh();
    }, SETTLED);
  }
}
