// Model of the page: open tabs, all sessions, and actions on them.

import { effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import {
  ExportFormat,
  ReviewMode,
  type Agent,
  type GetServerInfoResponse,
  type SessionSummary,
} from "../../generated/portico/v1/agent_pb";
import { failureOf, isLost, isSignedOut } from "../../model/call-failure";
import { createSessionModel } from "../../model/session";
import { createSessionListModel } from "../../model/session-list";
import { findUnfinishedWork } from "../../model/unfinished-work";
import { TabsModel } from "../../model/tabs";
import type { Failure, SessionModel, SessionListModel } from "../../model/types";
import type { NewSession } from "../cards";
import { preferencesOf, type Preferences } from "../preferences";
import { revealMessage } from "../timeline/request-reveal";
import { noticesBetween } from "./session-notices";
import { notify } from "./desktop-notifications";
import { PendingRemovals, type RemovalRequest } from "./removals";
import { SessionSummaries, type SummaryMap } from "./session-summaries";

export class AppModel {
  readonly gateway: Gateway;
  readonly tabs: TabsModel;
  readonly sessions: SessionListModel;
  readonly removals: PendingRemovals;
  readonly preferences: Preferences;
  readonly info = signal<GetServerInfoResponse | undefined>(undefined);
  readonly agents = signal<readonly Agent[]>([]);
  /** The session that is about to be handed to another agent. */
  readonly handingOff = signal<SessionSummary | undefined>(undefined);
  readonly failure = signal<Failure | undefined>(undefined);
  /** Sessions whose last turn ended while another one was in front. */
  readonly unread = signal<ReadonlySet<string>>(new Set());
  readonly #models = new Map<string, SessionModel>();
  readonly #front = signal<SessionModel | undefined>(undefined);
  readonly #summaries: SessionSummaries;
  #before: SummaryMap = new Map();
  #visible = true;
  #beginning: Promise<void> | undefined;

  constructor(gateway: Gateway) {
    this.gateway = gateway;
    this.tabs = new TabsModel(gateway.memory);
    this.sessions = createSessionListModel(gateway);
    this.removals = new PendingRemovals((sessionId, discardProposals) =>
      this.sessions.remove(sessionId, discardProposals),
    );
    this.preferences = preferencesOf(gateway.memory);
    this.#summaries = new SessionSummaries(gateway);
    this.#follow(this.tabs.tabs, ({ active }) => this.#show(active));
    this.#follow(this.sessions.sessions, (sessions) => this.#summaries.take(sessions));
    this.#follow(this.#summaries.known, (known) => this.#notice(known));
    this.#follow(this.sessions.connection, ({ state }) => {
      if (state === "live") void this.begin();
    });
  }

  /** The session in front. */
  get front(): ReadonlySignal<SessionModel | undefined> {
    return this.#front;
  }

  /** Sessions by their id, as far as they are known. */
  get known(): ReadonlySignal<SummaryMap> {
    return this.#summaries.known;
  }

  /** The title of a session: from its agent, or its first prompt. */
  titleOf(sessionId: string): string {
    const front = this.#front.value;
    const told = front?.id === sessionId ? (front.detail.value?.summary?.title ?? "") : "";
    return told === "" ? (this.#summaries.known.value.get(sessionId)?.title ?? "") : told;
  }

  /** Asks the server who it is, as soon as it answers. A page without tabs gets its first one. */
  async begin(): Promise<void> {
    if (this.info.peek() === undefined) this.#beginning ??= this.#begin();
    await this.#beginning;
  }

  async #begin(): Promise<void> {
    try {
      this.info.value = await this.gateway.client.getServerInfo({});
      const { open } = this.tabs.tabs.peek();
      if (open.length === 0) await this.newSession();
      await this.#summaries.ask(open);
      const { workspace = "" } = this.gateway;
      this.agents.value = (await this.gateway.client.listAgents({ workspace })).agents;
    } catch (reason) {
      if (!isLost(reason) && !isSignedOut(reason)) this.failure.value = failureOf(reason);
    } finally {
      this.#beginning = undefined;
    }
  }

  /** A new session in a tab in front, with an agent or with the usual one. */
  async newSession(
    agent = "",
    start: NewSession = {},
    workspace = this.gateway.workspace ?? "",
  ): Promise<void> {
    const { text = "", readsOnly = false, mode = ReviewMode.UNSPECIFIED, onStarted } = start;
    await this.#attempt(async () => {
      const { session } = await this.gateway.client.startSession({ workspace, agent, readsOnly, mode });
      if (session?.summary === undefined) return;
      this.#summaries.take([session.summary]);
      this.tabs.open(session.summary.sessionId);
      const front = this.#front.peek();
      if (text !== "" && front !== undefined) front.draft.value = text;
      onStarted?.();
    });
  }

  openSession(sessionId: string): void {
    this.tabs.open(sessionId);
  }

  /** Opens a session at the message with an event. */
  openMessage(sessionId: string, seq: number): void {
    this.openSession(sessionId);
    const session = this.#models.get(sessionId);
    if (session !== undefined) revealMessage(session, seq);
  }

  /** Shows another version of a session in its tab, at the message with an event. */
  switchSession(sessionId: string, other: string, seq: number): void {
    this.tabs.replace(sessionId, other);
    const session = this.#models.get(other);
    if (session !== undefined && seq > 0) revealMessage(session, seq);
    void this.#summaries.ask([other]);
  }

  closeTab(sessionId: string): void {
    this.tabs.close(sessionId);
    this.#dispose(sessionId);
  }

  /** Takes the session out of sight, and for good once it is too late for an undo. Asks if something is lost. */
  async remove(session: SessionSummary): Promise<void> {
    const work = await findUnfinishedWork(this.gateway, session);
    if (work === undefined) this.#remove(session, false);
    else this.removals.request.value = { session, work };
  }

  /** The person has been asked. */
  removeAnyway({ session }: RemovalRequest): void {
    this.removals.request.value = undefined;
    this.#remove(session, true);
  }

  async fork(sessionId: string): Promise<void> {
    await this.#attempt(async () => {
      const { session } = await this.gateway.client.forkSession({ sessionId });
      if (session?.summary !== undefined) this.tabs.open(session.summary.sessionId);
    });
  }

  /** Opens the session in which another agent continues. */
  async handOff(sessionId: string, agent: string): Promise<void> {
    await this.#attempt(async () => {
      const { session } = await this.gateway.client.handOffSession({ sessionId, agent });
      if (session?.summary === undefined) return;
      this.#summaries.take([session.summary]);
      this.tabs.open(session.summary.sessionId);
    });
  }

  async save(sessionId: string, format: ExportFormat): Promise<void> {
    await this.#attempt(async () => {
      const { fileName, content } = await this.gateway.client.exportSession({ sessionId, format });
      this.gateway.save(fileName, content, this.known.peek().get(sessionId)?.workspace ?? "");
    });
  }

  /** Pauses the session in front while the page is hidden. */
  setVisible(visible: boolean): void {
    this.#visible = visible;
    const front = this.#front.peek();
    if (visible) front?.wake();
    else front?.pause();
  }

  /** Acts at each change of one thing, and of nothing that is looked at meanwhile. */
  #follow<Value>(thing: ReadonlySignal<Value>, act: (value: Value) => void): void {
    effect(() => {
      const { value } = thing;
      untracked(() => act(value));
    });
  }

  async #attempt(act: () => Promise<void>): Promise<void> {
    try {
      await act();
      this.failure.value = undefined;
    } catch (reason) {
      this.failure.value = failureOf(reason);
    }
  }

  #show(sessionId: string | undefined): void {
    if (sessionId !== undefined && sessionId === this.#front.peek()?.id) return;
    this.#front.peek()?.pause();
    if (sessionId === undefined) {
      this.#front.value = undefined;
      return;
    }
    let model = this.#models.get(sessionId);
    if (model === undefined) {
      model = createSessionModel(this.gateway, sessionId);
      this.#models.set(sessionId, model);
    } else {
      model.wake();
    }
    this.#front.value = model;
    this.gateway.reportFront?.(sessionId);
    this.#setUnread(sessionId, false);
  }

  #remove(session: SessionSummary, discardProposals: boolean): void {
    this.closeTab(session.sessionId);
    this.removals.add(session, discardProposals);
  }

  #dispose(sessionId: string): void {
    this.#models.get(sessionId)?.dispose();
    this.#models.delete(sessionId);
  }

  #notice(known: SummaryMap): void {
    for (const news of noticesBetween(this.#before, known)) {
      const { sessionId, kind } = news;
      if (kind !== "asks" && sessionId !== this.#front.peek()?.id) this.#setUnread(sessionId, true);
      const { notification, sound } = this.preferences.announcements[kind];
      if (!this.#visible && notification.peek()) notify(news, (one) => this.openSession(one));
      if (sound.peek()) void import("./sounds").then(({ playSound }) => playSound(kind));
    }
    this.#before = known;
  }

  #setUnread(sessionId: string, unread: boolean): void {
    const now = new Set(this.unread.peek());
    if (unread === now.has(sessionId)) return;
    if (unread) now.add(sessionId);
    else now.delete(sessionId);
    this.unread.value = now;
  }
}
