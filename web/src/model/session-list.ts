// Live list of sessions, newest first.

import { batch, signal, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import { browserEnvironment, type Cancel, type Environment } from "../gateway/environment";
import type { ListSessionsResponse, SessionSummary } from "../generated/portico/v1/agent_pb";
import { failureOf, isLost } from "./call-failure";
import { FrameScheduler } from "./frame-scheduler";
import { Reconnector, type StreamAttempt } from "./reconnector";
import type { Connection, Failure, SessionListModel } from "./types";
import { changedAt } from "./session-summary";

const PAGE = 50;
/** After the last letter of a search. */
const PAUSE = 150;

export interface SessionListOptions {
  readonly environment?: Environment;
  readonly pageSize?: number;
}

/** Of one folder, or of all. Loads and watches at once. */
export function createSessionListModel(
  gateway: Gateway,
  workspace = "",
  { environment = browserEnvironment, pageSize = PAGE }: SessionListOptions = {},
): SessionListModel {
  const sessions = new SessionList(gateway, workspace, environment, pageSize);
  sessions.open();
  return sessions;
}

class SessionList implements SessionListModel {
  readonly search = signal("");
  readonly failure = signal<Failure | undefined>(undefined);
  readonly connection: ReadonlySignal<Connection>;
  readonly #sessions = signal<readonly SessionSummary[]>([]);
  readonly #more = signal(false);
  readonly #gateway: Gateway;
  readonly #workspace: string;
  readonly #environment: Environment;
  readonly #pageSize: number;
  readonly #reconnector: Reconnector;
  readonly #frames: FrameScheduler;
  /** Changes since the last frame; undefined for a removed session. */
  #changes = new Map<string, SessionSummary | undefined>();
  #listing = 0;
  #loadingMore: Promise<void> | undefined;
  #ends: Cancel[] = [];

  constructor(gateway: Gateway, workspace: string, environment: Environment, pageSize: number) {
    this.#gateway = gateway;
    this.#workspace = workspace;
    this.#environment = environment;
    this.#pageSize = pageSize;
    this.#frames = new FrameScheduler(environment, () => this.#show());
    this.#reconnector = new Reconnector(gateway, environment, {
      run: (line) => this.#watch(line),
      ended: () => false,
    });
    this.connection = this.#reconnector.connection;
  }

  get sessions(): ReadonlySignal<readonly SessionSummary[]> {
    return this.#sessions;
  }

  get more(): ReadonlySignal<boolean> {
    return this.#more;
  }

  open(): void {
    let first = true;
    let pending: Cancel = () => undefined;
    const searched = this.search.subscribe(() => {
      pending();
      if (!first) pending = this.#environment.after(PAUSE, () => void this.#find());
      first = false;
    });
    this.#ends = [searched, () => pending(), () => this.#reconnector.pause()];
    this.#reconnector.wake();
  }

  dispose(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  async loadMore(): Promise<void> {
    this.#loadingMore ??= this.#try(() => this.#loadMore()).finally(() => (this.#loadingMore = undefined));
    await this.#loadingMore;
  }

  async update(sessionId: string, change: { title?: string; pinned?: boolean }): Promise<void> {
    await this.#try(async () => {
      const { session } = await this.#gateway.client.updateSession({ sessionId, ...change });
      if (session?.summary === undefined) return;
      this.#changes.set(sessionId, session.summary);
      this.#frames.flush();
    });
  }

  async remove(sessionId: string, discardProposals = false): Promise<void> {
    await this.#try(async () => {
      await this.#gateway.client.clearSession({ sessionId, discardProposals });
      this.#changes.set(sessionId, undefined);
      this.#frames.flush();
    });
  }

  /** The second list has the changes between the first list and the start of the stream. */
  async #watch(attempt: StreamAttempt): Promise<void> {
    const { signal } = attempt;
    await this.#load(this.#loaded(), signal);
    attempt.connected();
    let first = true;
    for await (const { change } of this.#gateway.client.watchSessions(
      { workspace: this.#workspace },
      { signal },
    )) {
      if (signal.aborted) return;
      attempt.received();
      if (change.case === "changed") this.#changes.set(change.value.sessionId, change.value);
      if (change.case === "removedSessionId") this.#changes.set(change.value, undefined);
      if (this.#changes.size > 0) this.#frames.request();
      if (first) await this.#load(this.#loaded(), signal);
      first = false;
    }
  }

  /** While the server is away nothing is found; the next talk begins with the same search. */
  async #find(): Promise<void> {
    try {
      await this.#load(this.#pageSize);
    } catch (reason) {
      if (!isLost(reason)) this.failure.value = failureOf(reason);
    }
  }

  /** Least number of sessions in a list, so that none that is shown disappears. */
  #loaded(): number {
    return Math.max(this.#pageSize, this.#sessions.peek().length);
  }

  async #load(limit: number, signal?: AbortSignal): Promise<void> {
    const listing = ++this.#listing;
    const list = await this.#list(limit, "", signal);
    if (listing !== this.#listing) return;
    batch(() => {
      this.#sessions.value = list.sessions;
      this.#more.value = list.more;
    });
    this.#frames.flush();
  }

  async #loadMore(): Promise<void> {
    // A pinned one may be older than what has been loaded.
    const last = this.#sessions.peek().findLast(({ pinned }) => !pinned);
    if (last === undefined || !this.#more.peek()) return;
    const listing = this.#listing;
    const list = await this.#list(this.#pageSize, last.sessionId);
    if (listing !== this.#listing) return;
    const known = new Set(this.#sessions.peek().map((session) => session.sessionId));
    batch(() => {
      const added = list.sessions.filter((session) => !known.has(session.sessionId));
      this.#sessions.value = [...this.#sessions.peek(), ...added];
      this.#more.value = list.more;
    });
  }

  #list(limit: number, afterSessionId: string, signal?: AbortSignal): Promise<ListSessionsResponse> {
    const request = { workspace: this.#workspace, search: this.search.peek(), limit, afterSessionId };
    return this.#gateway.client.listSessions(request, signal === undefined ? {} : { signal });
  }

  #show(): void {
    if (this.#changes.size === 0) return;
    const changes = this.#changes;
    this.#changes = new Map();
    const known = new Map(this.#sessions.peek().map((session) => [session.sessionId, session]));
    for (const [sessionId, change] of changes) {
      const current = known.get(sessionId);
      if (change === undefined || !this.#fits(change)) known.delete(sessionId);
      else if (current === undefined || changedAt(change) >= changedAt(current)) known.set(sessionId, change);
    }
    this.#sessions.value = [...known.values()].sort((one, other) => changedAt(other) - changedAt(one));
  }

  /** Matches as the server does: every word is in the title, the folder or the agent. */
  #fits({ title, workspace, agent }: SessionSummary): boolean {
    if (this.#workspace !== "" && workspace !== this.#workspace) return false;
    const text = `${title}\n${workspace}\n${agent}`.toLowerCase();
    const words = this.search.peek().toLowerCase().split(/\s+/);
    return words.every((word) => text.includes(word));
  }

  async #try(call: () => Promise<void>): Promise<void> {
    try {
      await call();
    } catch (reason) {
      this.failure.value = failureOf(reason);
    }
  }
}
