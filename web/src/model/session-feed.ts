// Everything the server sends about one session: detail, drafts and events, each once. Loads the tail first, then
// watches; updates are shown once per frame.

import { Code, ConnectError } from "@connectrpc/connect";
import { batch, computed, signal, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import type { Environment } from "../gateway/environment";
import type { Desk, GetTimelineResponse, SessionDetail } from "../generated/portico/v1/agent_pb";
import { TurnState, type Event } from "../generated/portico/v1/events_pb";
import { applyEvent } from "./session-detail";
import { FrameScheduler } from "./frame-scheduler";
import type { StreamAttempt } from "./reconnector";
import { Timeline } from "./timeline";
import type { Item } from "./types";

/** After more missed events than this, the feed starts again at the tail. */
const MANY_MISSED = 2_000;

export interface SessionFeedPorts {
  readonly gateway: Gateway;
  readonly environment: Environment;
  readonly sessionId: string;
  readonly pageSize: number;
  /** Called in the order of the log, and of the revisions of drafts. */
  onEvents(events: readonly Event[]): void;
  onDrafts(drafts: Desk): void;
}

export class SessionFeed {
  readonly #ports: SessionFeedPorts;
  readonly #items = signal<readonly Item[]>([]);
  readonly #detail = signal<SessionDetail | undefined>(undefined);
  readonly #drafts = signal<Desk | undefined>(undefined);
  readonly #hasEarlier = signal(false);
  readonly state: ReadonlySignal<TurnState> = computed(
    () => this.#detail.value?.summary?.state ?? TurnState.UNSPECIFIED,
  );
  #timeline = new Timeline();
  /** Events are missing, so the tail must be loaded again. */
  #hasGap = false;
  /** The event that the detail is as old as. */
  #detailSeq = 0;
  #draftsRevision = -1n;
  #attempt: StreamAttempt | undefined;
  #arrived: Event[] = [];
  #arrivedDrafts: Desk | undefined;
  readonly #frames: FrameScheduler;
  #loadingEarlier: Promise<void> | undefined;

  constructor(ports: SessionFeedPorts) {
    this.#ports = ports;
    this.#frames = new FrameScheduler(ports.environment, () => this.#show());
  }

  get items(): ReadonlySignal<readonly Item[]> {
    return this.#items;
  }

  get detail(): ReadonlySignal<SessionDetail | undefined> {
    return this.#detail;
  }

  get drafts(): ReadonlySignal<Desk | undefined> {
    return this.#drafts;
  }

  get hasEarlier(): ReadonlySignal<boolean> {
    return this.#hasEarlier;
  }

  get lastSeq(): number {
    return this.#timeline.lastSeq;
  }

  /** Catches up and follows, until the stream ends. */
  async run(attempt: StreamAttempt): Promise<void> {
    const { gateway, sessionId } = this.#ports;
    const { signal } = attempt;
    this.flush();
    this.#attempt = attempt;
    const known = this.#timeline.lastSeq;
    const fromTail = known === 0 || this.#hasGap;
    const [session, page] = await Promise.all([
      gateway.client.getSession({ sessionId }, { signal }),
      fromTail ? this.#page(0, signal) : undefined,
    ]);
    const missed = Number(session.session?.summary?.lastSeq ?? 0n) - known;
    const tail = page ?? (missed > MANY_MISSED || missed < 0 ? await this.#page(0, signal) : undefined);
    if (signal.aborted) return;
    batch(() => {
      if (tail !== undefined) this.#takeTail(tail, missed < 0);
      this.#detailSeq = 0;
      this.#draftsRevision = -1n;
      if (session.session !== undefined) this.#takeDetail(session.session, tail?.events ?? []);
    });
    attempt.connected();
    await this.#follow(attempt);
  }

  /** Shows everything that has arrived, without waiting for a frame. */
  flush(): void {
    this.#frames.flush();
  }

  /** One page more, in front. Calls that overlap are one. */
  async loadEarlier(): Promise<void> {
    this.#loadingEarlier ??= this.#loadEarlier().finally(() => (this.#loadingEarlier = undefined));
    await this.#loadingEarlier;
  }

  /** The detail that some call has brought. */
  accept(detail: SessionDetail): void {
    this.flush();
    this.#takeDetail(detail, []);
  }

  change(change: Partial<SessionDetail>): void {
    const detail = this.#detail.peek();
    if (detail !== undefined) this.#detail.value = { ...detail, ...change };
  }

  #show(): void {
    const events = this.#arrived;
    const drafts = this.#arrivedDrafts;
    if (events.length === 0 && drafts === undefined) return;
    this.#arrived = [];
    this.#arrivedDrafts = undefined;
    batch(() => {
      if (this.#timeline.append(events) !== undefined) this.#reportGap();
      this.#items.value = this.#timeline.items;
      this.#advance(events);
      this.#ports.onEvents(events);
      if (drafts !== undefined) this.#takeDrafts(drafts);
    });
  }

  async #follow(attempt: StreamAttempt): Promise<void> {
    const { gateway, sessionId } = this.#ports;
    const afterSeq = BigInt(this.#timeline.lastSeq);
    for await (const { update } of gateway.client.watch(
      { sessionId, afterSeq },
      { signal: attempt.signal },
    )) {
      if (attempt.signal.aborted) return;
      attempt.received();
      if (update.case === "event") this.#arrived.push(update.value);
      else if (update.case === "desk") this.#arrivedDrafts = update.value;
      else continue;
      this.#frames.request();
    }
  }

  #page(beforeSeq: number, signal?: AbortSignal): Promise<GetTimelineResponse> {
    const { gateway, sessionId, pageSize } = this.#ports;
    const request = { sessionId, beforeSeq: BigInt(beforeSeq), limit: pageSize };
    return gateway.client.getTimeline(request, signal === undefined ? {} : { signal });
  }

  async #loadEarlier(): Promise<void> {
    const timeline = this.#timeline;
    if (timeline.firstSeq <= 1) return;
    const page = await this.#page(timeline.firstSeq);
    if (timeline !== this.#timeline) return;
    if (timeline.prepend(page.events) !== undefined) {
      throw new ConnectError("Earlier events are missing.", Code.DataLoss);
    }
    batch(() => {
      this.#items.value = timeline.items;
      this.#hasEarlier.value = page.more && timeline.firstSeq > 1;
    });
  }

  /** A tail that does not reach back to what is known replaces it. */
  #takeTail(page: GetTimelineResponse, startAfresh: boolean): void {
    const first = Number(page.events[0]?.seq ?? 0n);
    if (startAfresh || this.#timeline.lastSeq === 0 || first > this.#timeline.lastSeq + 1) {
      this.#timeline = new Timeline();
      this.#hasEarlier.value = page.more;
    }
    this.#hasGap = this.#timeline.append(page.events) !== undefined;
    this.#items.value = this.#timeline.items;
    this.#ports.onEvents(page.events);
  }

  /** A detail older than what has been shown brings only what no event tells. */
  #takeDetail(detail: SessionDetail, newer: readonly Event[]): void {
    const current = this.#detail.peek();
    const seq = Number(detail.summary?.lastSeq ?? 0n);
    if (current !== undefined && seq < this.#detailSeq) {
      const { promptCapabilities, canFork, openElsewhere } = detail;
      this.change({ ...(promptCapabilities && { promptCapabilities }), canFork, openElsewhere });
    } else {
      this.#detailSeq = seq;
      this.#detail.value = detail;
      this.#advance(newer);
    }
    if (detail.desk !== undefined) this.#takeDrafts(detail.desk);
  }

  #takeDrafts(drafts: Desk): void {
    if (drafts.revision < this.#draftsRevision) return;
    this.#draftsRevision = drafts.revision;
    this.#drafts.value = drafts;
    this.#ports.onDrafts(drafts);
  }

  #advance(events: readonly Event[]): void {
    let detail = this.#detail.peek();
    for (const event of events) {
      const seq = Number(event.seq);
      if (detail === undefined || seq <= this.#detailSeq) continue;
      detail = applyEvent(detail, event);
      this.#detailSeq = seq;
    }
    this.#detail.value = detail;
  }

  #reportGap(): void {
    this.#hasGap = true;
    this.#attempt?.abort();
  }
}
