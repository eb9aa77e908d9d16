// One open session: everything its tab shows and can do. Made of a feed from the server, a draft, and an outbox for
// prompts.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import { browserEnvironment, type Cancel, type Environment } from "../gateway/environment";
import type {
  Component,
  Desk,
  KeptPrompt,
  PromptPiece,
  ReviewMode,
  SessionDetail,
  SubmitClientEventRequestSchema,
} from "../generated/portico/v1/agent_pb";
import { QuestionAction, type PlanEntry, type Todo, type TurnState } from "../generated/portico/v1/events_pb";
import { Draft } from "./draft";
import { failureOf, isLost, isSignedOut } from "./call-failure";
import { SessionFeed } from "./session-feed";
import { Outbox, outgoingFrom } from "./outbox";
import { Reconnector } from "./reconnector";
import type { Connection, Decision, Failure, Item, Outgoing, PromptItem, SessionModel } from "./types";

export interface SessionOptions {
  readonly environment?: Environment;
  /** Events on a page of the timeline. */
  readonly pageSize?: number;
}

/** Loads and watches at once; `pause` and `wake` stop and go on. */
export function createSessionModel(
  gateway: Gateway,
  sessionId: string,
  { environment = browserEnvironment, pageSize = 200 }: SessionOptions = {},
): SessionModel {
  const session = new Session(gateway, sessionId, environment, pageSize);
  session.open();
  return session;
}

type ClientEvent = NonNullable<MessageInitShape<typeof SubmitClientEventRequestSchema>["event"]>;

const ACTIONS = {
  accept: QuestionAction.ACCEPT,
  decline: QuestionAction.DECLINE,
  cancel: QuestionAction.CANCEL,
} as const;

/** Refusals that no further attempt changes: the session is not there. */
const GONE = new Set([Code.NotFound, Code.InvalidArgument]);

class Session implements SessionModel {
  readonly id: string;
  readonly items: ReadonlySignal<readonly Item[]>;
  readonly detail: ReadonlySignal<SessionDetail | undefined>;
  readonly drafts: ReadonlySignal<Desk | undefined>;
  readonly state: ReadonlySignal<TurnState>;
  readonly hasEarlier: ReadonlySignal<boolean>;
  readonly plan: ReadonlySignal<readonly PlanEntry[]>;
  readonly todos: ReadonlySignal<readonly Todo[]>;
  readonly connection: ReadonlySignal<Connection>;
  readonly draft: Signal<string>;
  readonly draftConflict: Signal<string | undefined>;
  readonly failure = signal<Failure | undefined>(undefined);
  readonly #gateway: Gateway;
  readonly #feed: SessionFeed;
  readonly #draft: Draft;
  readonly #outbox: Outbox;
  readonly #reconnector: Reconnector;
  #forget: Cancel = () => undefined;

  constructor(gateway: Gateway, sessionId: string, environment: Environment, pageSize: number) {
    const { draftStore, clientId } = gateway;
    this.id = sessionId;
    this.#gateway = gateway;
    const save = (text: string): Promise<void> => this.#saveDraft(text);
    this.#draft = new Draft({
      environment,
      store: draftStore,
      storeKey: `draft ${sessionId}`,
      clientId,
      save,
      lastSeq: () => this.#feed.lastSeq,
      wasSent: (text, afterSeq) => this.#wasSent(text, afterSeq),
      isSending: (text) => this.#outbox.isSending(text),
    });
    this.#outbox = new Outbox(gateway, sessionId, (text) => this.#draft.sent(text));
    this.#feed = new SessionFeed({
      gateway,
      environment,
      sessionId,
      pageSize,
      onEvents: (events) => this.#outbox.receiveEvents(events),
      onDrafts: (drafts) => {
        this.#draft.receive(drafts);
        this.#outbox.receiveDrafts(drafts);
      },
    });
    this.#reconnector = new Reconnector(gateway, environment, {
      run: (line) => this.#feed.run(line),
      ended: (reason) => this.#isGone(reason),
    });
    this.items = this.#feed.items;
    this.detail = this.#feed.detail;
    this.drafts = this.#feed.drafts;
    this.state = this.#feed.state;
    this.hasEarlier = this.#feed.hasEarlier;
    this.plan = computed(() => this.detail.value?.plan ?? []);
    this.todos = computed(() => this.detail.value?.todos ?? []);
    this.connection = this.#reconnector.connection;
    this.draft = this.#draft.text;
    this.draftConflict = this.#draft.conflict;
  }

  open(): void {
    this.#draft.open();
    this.#forget = effect(() => {
      if (this.connection.value.state === "live") this.#draft.saveNow();
    });
    this.wake();
  }

  wake(): void {
    this.#reconnector.wake();
  }

  pause(): void {
    this.#draft.saveNow();
    this.#reconnector.pause();
    this.#feed.flush();
  }

  dispose(): void {
    this.pause();
    this.#forget();
    this.#draft.close();
  }

  async loadEarlier(): Promise<void> {
    await this.#try(() => this.#feed.loadEarlier());
  }

  async send(outgoing: Outgoing): Promise<boolean> {
    if (outgoing.text.trim() === "" && outgoing.attachments.length === 0) return false;
    return await this.#deliver(outgoing, () => this.#draft.sent(outgoing.text));
  }

  async retry(): Promise<void> {
    const prompt = await this.#try(() => this.#lastPrompt());
    if (prompt !== undefined) await this.#deliver(outgoingFrom(prompt), () => undefined);
  }

  async stop(force = false): Promise<void> {
    await this.#try(() => this.#gateway.client.stopTurn({ sessionId: this.id, force }));
  }

  async stopCommand(terminalId: string): Promise<void> {
    await this.#try(() => this.#gateway.client.stopCommand({ sessionId: this.id, terminalId }));
  }

  async stopTool(toolId: string): Promise<void> {
    await this.#try(() => this.#gateway.client.stopTool({ sessionId: this.id, toolId }));
  }

  async discard(): Promise<void> {
    await this.#try(() => this.#gateway.client.discardTurn({ sessionId: this.id }));
  }

  async decide(decisions: readonly Decision[], reason = ""): Promise<void> {
    const value = { decisions: [...decisions] };
    await this.#try(async () => {
      await this.#submit({ case: "permissionDecisions", value });
      if (reason !== "") await this.#deliver({ text: reason, attachments: [] }, () => undefined);
    });
  }

  async reply(requestId: string, action: keyof typeof ACTIONS, content: object = {}): Promise<void> {
    const value = { requestId, action: ACTIONS[action], contentJson: JSON.stringify(content) };
    await this.#try(() => this.#submit({ case: "questionReply", value }));
  }

  async setOption(optionId: string, value: string | boolean): Promise<void> {
    const chosen =
      typeof value === "string"
        ? ({ case: "choice", value } as const)
        : ({ case: "switchedOn", value } as const);
    const request = { sessionId: this.id, optionId, value: chosen };
    const set = await this.#try(() => this.#gateway.client.setSessionConfig(request));
    if (set !== undefined) this.#feed.change({ options: set.options });
  }

  async setMode(mode: ReviewMode): Promise<void> {
    const set = await this.#try(() => this.#gateway.client.setReviewMode({ sessionId: this.id, mode }));
    if (set?.session !== undefined) this.#feed.accept(set.session);
  }

  async listComponents(): Promise<readonly Component[] | undefined> {
    return (await this.#try(() => this.#gateway.client.listComponents({ sessionId: this.id })))?.components;
  }

  async switchComponent(name: string, on: boolean): Promise<readonly Component[] | undefined> {
    const request = { sessionId: this.id, ...(on ? { on: [name] } : { off: [name] }) };
    return (await this.#try(() => this.#gateway.client.switchComponents(request)))?.components;
  }

  async unqueue(promptId: string): Promise<void> {
    await this.#try(() => this.#submit({ case: "queueRemoval", value: { promptId } }));
  }

  async changeQueued(promptId: string, change: { text?: string; place?: number }): Promise<void> {
    await this.#try(() => this.#submit({ case: "queueChange", value: { promptId, ...change } }));
  }

  async sendQueued(promptId: string): Promise<void> {
    await this.#try(() => this.#outbox.deliverQueued(promptId));
  }

  async writeTodos(todos: readonly Todo[]): Promise<void> {
    const request = { sessionId: this.id, todos: [...todos] };
    const written = await this.#try(() => this.#gateway.client.writeTodos(request));
    if (written !== undefined) this.#feed.change({ todos: written.todos });
  }

  async findFiles(
    query: string,
  ): Promise<readonly { path: string; matched: readonly number[] }[] | undefined> {
    return (await this.#tryQuietly(() => this.#gateway.client.findFiles({ sessionId: this.id, query })))
      ?.files;
  }

  async listPrompts(): Promise<readonly KeptPrompt[] | undefined> {
    return (await this.#tryQuietly(() => this.#gateway.client.listPrompts({ workspace: this.#workspace })))
      ?.prompts;
  }

  async getPrompt(name: string): Promise<readonly PromptPiece[] | undefined> {
    return (await this.#try(() => this.#gateway.client.getPrompt({ workspace: this.#workspace, name })))
      ?.pieces;
  }

  get #workspace(): string {
    return this.detail.peek()?.summary?.workspace ?? "";
  }

  async #deliver(outgoing: Outgoing, delivered: () => void): Promise<boolean> {
    const arrived = (): void => {
      this.failure.value = undefined;
      delivered();
    };
    const done = await this.#try(async () => {
      await this.#outbox.deliver(outgoing, this.#feed.lastSeq, arrived);
      return true;
    });
    // While it was being sent, it was not saved as a draft.
    if (done !== true) this.#draft.saveNow();
    return done === true;
  }

  async #lastPrompt(): Promise<PromptItem | undefined> {
    const find = (): PromptItem | undefined => this.items.peek().findLast((item) => item.type === "prompt");
    while (find() === undefined && this.hasEarlier.peek()) await this.#feed.loadEarlier();
    return find();
  }

  #wasSent(text: string, afterSeq: number): boolean {
    return this.items
      .peek()
      .some((item) => item.type === "prompt" && item.firstSeq > afterSeq && item.text.trim() === text.trim());
  }

  /** The connection reports that the server is away; anything else is shown to the person. */
  async #saveDraft(text: string): Promise<void> {
    try {
      await this.#submit({ case: "draft", value: { text, clientId: this.#gateway.clientId } });
    } catch (reason) {
      if (!isLost(reason) && !isSignedOut(reason)) this.failure.value = failureOf(reason);
      throw reason;
    }
  }

  async #submit(event: ClientEvent): Promise<void> {
    await this.#gateway.client.submitClientEvent({ sessionId: this.id, event });
  }

  /** A call at each letter; the connection reports that the server is away, and less often. */
  async #tryQuietly<Answer>(call: () => Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await call();
    } catch (reason) {
      if (!isLost(reason)) this.failure.value = failureOf(reason);
      return undefined;
    }
  }

  /** A call for the person: a failure is shown to them. */
  async #try<Answer>(call: () => Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await call();
    } catch (reason) {
      this.failure.value = failureOf(reason);
      return undefined;
    }
  }

  #isGone(reason: unknown): boolean {
    if (reason === undefined || !GONE.has(ConnectError.from(reason).code)) return false;
    this.failure.value = failureOf(reason);
    return true;
  }
}
