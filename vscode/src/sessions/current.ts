// The session that the person is in: the one in front of the page, or the last one of this folder. The status bar,
// the todos and the changes are about it.

import { equals } from "@bufbuild/protobuf";
import {
  SessionDetailSchema,
  type SessionDetail,
  type SessionSummary,
} from "../../../web/src/generated/portico/v1/agent_pb";
import type { Link } from "../server/link";
import { Told, type Listened, type Listening } from "../told";
import type { LiveSessions } from "./live";

/** Changes of a session that streams come many a second. */
const SETTLED = 250;

export interface CurrentOptions {
  /** Whether a session belongs to this window. */
  readonly isHere: (session: SessionSummary) => boolean;
  readonly memory: { get(key: string): unknown; update(key: string, value: unknown): unknown };
}

const KEY = "session";

export class CurrentSession {
  readonly #link: Link;
  readonly #live: LiveSessions;
  readonly #options: CurrentOptions;
  readonly #detail = new Told<SessionDetail | undefined>(undefined);
  readonly #following: Listening;
  #chosen: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #asked = 0;
  /** The newest question that is answered. */
  #answered = 0;

  constructor(link: Link, live: LiveSessions, options: CurrentOptions) {
    this.#link = link;
    this.#live = live;
    this.#options = options;
    const kept = options.memory.get(KEY);
    this.#chosen = typeof kept === "string" ? kept : undefined;
    this.#following = live.sessions.listen((now, before) => {
      const wanted = this.#wanted;
      const isOther = wanted !== this.#detail.value?.summary?.sessionId;
      if (isOther || (wanted !== undefined && now.get(wanted) !== before.get(wanted))) this.#settle();
    });
  }

  get detail(): Listened<SessionDetail | undefined> {
    return this.#detail;
  }

  /** What a page has brought to its front last, also before this window was loaded. */
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
    if (sessionId === undefined || !this.#link.isUp) return;
    try {
      const { session } = await this.#link.call((client) => client.getSession({ sessionId }));
      if (sessionId === this.#wanted) this.#show(asked, session);
    } catch {
      // The session was removed, or the server is away: both are told where they matter.
      if (sessionId === this.#wanted && !this.#live.sessions.value.has(sessionId))
        this.#show(asked, undefined);
    }
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#following.dispose();
  }

  get #wanted(): string | undefined {
    return this.#chosen ?? this.#live.newest().find((session) => this.#options.isHere(session))?.sessionId;
  }

  /**
   * An answer that was overtaken by a newer one is of no use; one that was asked for earlier may be the last.
   * What is the same is not told again: a list that is drawn anew swallows the click that is under way.
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
