// Full-text search over the messages of all sessions, for the words typed into the search field.

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { batch, signal, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import { browserEnvironment, type Cancel, type Environment } from "../gateway/environment";
import type { SearchHit, SessionSummary } from "../generated/portico/v1/agent_pb";
import { failureOf, isLost } from "./call-failure";

const PAGE = 20;
/** After the last letter. */
const PAUSE = 200;
/** Between two looks at an index that is not complete yet. */
const AGAIN = 700;
/** One letter would match almost everything. */
const SHORTEST = 2;

export interface MessageHit {
  readonly hit: SearchHit;
  readonly session: SessionSummary;
}

/** Only messages of these; what is empty filters nothing. */
export interface MessageFilters {
  readonly agent: string;
  readonly workspace: string;
  /** A file that a tool call is about. */
  readonly path: string;
  /** Not older than so many days. */
  readonly days: number;
}

const DAY = 86_400_000;

export class MessageSearch {
  readonly filters = signal<MessageFilters>({ agent: "", workspace: "", path: "", days: 0 });
  readonly hits = signal<readonly MessageHit[]>([]);
  readonly more = signal(false);
  /** Events that are not indexed yet. */
  readonly pending = signal(0);
  /** Reason why the last search failed, if it did. */
  readonly problem = signal("");
  readonly #gateway: Gateway;
  readonly #environment: Environment;
  readonly #words: ReadonlySignal<string>;
  #limit = PAGE;
  #search = 0;
  #cancel: Cancel = () => undefined;

  constructor(
    gateway: Gateway,
    words: ReadonlySignal<string>,
    environment: Environment = browserEnvironment,
  ) {
    this.#gateway = gateway;
    this.#words = words;
    this.#environment = environment;
  }

  /** Follows the search field; the answer ends it. */
  open(): Cancel {
    const search = (): void => {
      this.#limit = PAGE;
      this.#searchIn(PAUSE);
    };
    const end = this.#words.subscribe(search);
    const endFilters = this.filters.subscribe(search);
    return () => {
      end();
      endFilters();
      this.#cancel();
      this.#search += 1;
    };
  }

  showMore(): void {
    this.#limit += PAGE;
    this.#searchIn(0);
  }

  #searchIn(milliseconds: number): void {
    this.#cancel();
    const search = ++this.#search;
    const words = this.#words.peek().trim();
    if (words.length < SHORTEST) this.#show([], false, 0, "");
    else this.#cancel = this.#environment.after(milliseconds, () => void this.#find(words, search));
  }

  async #find(words: string, search: number): Promise<void> {
    try {
      const { days, ...filters } = this.filters.peek();
      const since = days === 0 ? {} : { since: timestampFromMs(Date.now() - days * DAY) };
      const page = await this.#gateway.client.searchSessions({
        words,
        limit: this.#limit,
        ...filters,
        ...since,
      });
      if (search !== this.#search) return;
      const sessions = new Map(page.sessions.map((session) => [session.sessionId, session]));
      const hits = page.hits.flatMap((hit) => {
        const session = sessions.get(hit.sessionId);
        return session === undefined ? [] : [{ hit, session }];
      });
      this.#show(hits, page.more, Number(page.pending), "");
      if (page.pending > 0n) this.#searchIn(AGAIN);
    } catch (reason) {
      if (search !== this.#search) return;
      // The page itself tells that the server is away.
      this.#show([], false, 0, isLost(reason) ? "" : failureOf(reason).message);
    }
  }

  #show(hits: readonly MessageHit[], more: boolean, pending: number, problem: string): void {
    batch(() => {
      this.hits.value = hits;
      this.more.value = more;
      this.pending.value = pending;
      this.problem.value = problem;
    });
  }
}
