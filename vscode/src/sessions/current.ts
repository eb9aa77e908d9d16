// The session that the person is in: the one in front of the page, or the last one of this folder. The status bar,
// the todos and the changes are about it.

import type { SessionDetail, SessionSummary } from "../../../web/src/generated/portico/v1/agent_pb";
import type { Link } from "../server/link";
import { Told, type Listened } from "../told";
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
  readonly #stop: () => void;
  #chosen: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #asked = 0;

  constructor(link: Link, live: LiveSessions, options: CurrentOptions) {
    this.#link = link;
    this.#live = live;
    this.#options = options;
    const kept = options.memory.get(KEY);
    this.#chosen = typeof kept === "string" ? kept : undefined;
    this.#stop = live.sessions.listen((now, before) => {
      const { id } = this;
      if (
        id !== this.#detail.value?.summary?.sessionId ||
        (id !== undefined && now.get(id) !== before.get(id))
      )
        this.#settle();
    });
  }

  get detail(): Listened<SessionDetail | undefined> {
    return this.#detail;
  }

  get id(): string | undefined {
    if (this.#chosen !== undefined && this.#live.sessions.value.has(this.#chosen)) return this.#chosen;
    return this.#live.newest().find((session) => this.#options.isHere(session))?.sessionId;
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
    const sessionId = this.#chosen ?? this.id;
    if (sessionId === undefined) {
      this.#detail.set(undefined);
      return;
    }
    if (!this.#link.isUp) return;
    try {
      const { session } = await this.#link.call((client) => client.getSession({ sessionId }));
      if (asked === this.#asked) this.#detail.set(session);
    } catch {
      // The session was removed, or the server is away: both are told where they matter.
      if (asked === this.#asked && !this.#live.sessions.value.has(sessionId)) this.#detail.set(undefined);
    }
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#stop();
  }

  #settle(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.refresh();
    }, SETTLED);
  }
}
