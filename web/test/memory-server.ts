// A server in memory: a log, a desk and the calls about them, as the contract has them. It can be
// killed and started again, its answers held back, and its streams made to lie.

import { create } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createClient,
  createRouterTransport,
  type ConnectRouter,
} from "@connectrpc/connect";
import type { Gateway, Memory, DraftStore } from "../src/gateway/gateway";
import {
  AgentService,
  DeskSchema,
  QueuedPromptSchema,
  SessionDetailSchema,
  WhenBusy,
  type Desk,
  type QueuedPrompt,
  type SubmitPromptRequest,
  type SessionDetail,
  type SubmitClientEventRequest,
} from "../src/generated/portico/v1/agent_pb";
import { ErrorCode, ErrorDetailsSchema, TurnState, type Event } from "../src/generated/portico/v1/events_pb";
import { Log } from "./events";

type PromptOutcome =
  { case: "event"; value: Event } | { case: "queued"; value: QueuedPrompt } | { case: undefined };
type Update =
  { case: "event"; value: Event } | { case: "desk"; value: Desk } | { case: "heartbeat"; value: object };

export class MemoryServer {
  readonly calls: { method: string; request: unknown }[] = [];
  /** Where each stream began. */
  readonly watchedAfter: number[] = [];
  readonly submitted: SubmitClientEventRequest["event"][] = [];
  pageBuild = "build-1";
  busy = false;
  signedOut = false;
  gone = false;
  desk = create(DeskSchema);
  /** How many events a stream sends before it waits for another change. */
  pace = Infinity;
  /** Changes what a stream is about to send. */
  mangle: (events: readonly Event[]) => readonly Event[] = (events) => events;
  #running = true;
  #lives = 0;
  #held = new Map<string, { released: Promise<void>; once: boolean }>();
  #wakers = new Set<() => void>();

  constructor(readonly log = new Log().start()) {}

  get streams(): number {
    return this.#wakers.size;
  }

  called(method: string): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  /** Ends every stream, in the middle of whatever it says. */
  kill(): void {
    this.#running = false;
    this.#lives++;
    this.changed();
  }

  start(): void {
    this.#running = true;
  }

  /** Every call of this method waits until it is let go; with `once`, only the next. */
  hold(method: string, { once = false } = {}): () => void {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    this.#held.set(method, { released, once });
    return () => {
      if (this.#held.get(method)?.released === released) this.#held.delete(method);
      release();
    };
  }

  /** The log or the desk has more than before. */
  changed(): void {
    for (const wake of [...this.#wakers]) wake();
  }

  write(act: (log: Log) => void): void {
    act(this.log);
    this.changed();
  }

  /** Another client writes a draft. */
  writeDraft(draft: string, clientId: string): void {
    this.setDesk({ draft, clientId });
  }

  setDesk(change: Partial<Pick<Desk, "draft" | "clientId" | "queue">>): void {
    this.desk = { ...this.desk, ...change, revision: this.desk.revision + 1n };
    this.changed();
  }

  gateway(draftStore: DraftStore = createTestDraftStore(), clientId = "page-1"): Gateway {
    const transport = createRouterTransport((router) => this.#serve(router), {
      transport: {
        interceptors: [
          (next) => async (request) => {
            this.calls.push({ method: request.method.localName, request: request.message });
            this.#mustRun();
            await this.#letGo(request.method.localName);
            this.#mustRun();
            return await next(request);
          },
        ],
      },
    });
    return {
      client: createClient(AgentService, transport),
      clientId,
      pageBuild: "build-1",
      memory: createTestMemory(),
      draftStore,
      openLink: () => undefined,
      save: () => undefined,
      reload: () => undefined,
    };
  }

  detail(): SessionDetail {
    const states = this.log.events.map(({ payload }) =>
      payload.case === "stateChanged" ? payload.value.state : 0,
    );
    const state = states.findLast((one) => one !== TurnState.UNSPECIFIED) ?? TurnState.IDLE;
    return create(SessionDetailSchema, {
      summary: { sessionId: this.log.sessionId, lastSeq: BigInt(this.log.lastSeq), state },
      desk: this.desk,
    });
  }

  async #letGo(method: string): Promise<void> {
    const held = this.#held.get(method);
    if (held?.once === true) this.#held.delete(method);
    await held?.released;
  }

  #mustRun(): void {
    if (!this.#running) throw new ConnectError("nobody listens", Code.Unavailable);
    if (this.signedOut) throw new ConnectError("no token", Code.Unauthenticated);
    if (this.gone) throw refusal("There is no such session.", Code.NotFound, ErrorCode.SESSION_NOT_FOUND);
  }

  #serve(router: ConnectRouter): void {
    router.service(AgentService, {
      getServerInfo: () => ({ pageBuild: this.pageBuild, version: "1" }),
      getSession: () => ({ session: this.detail() }),
      getTimeline: ({ beforeSeq, limit }) => {
        const end = beforeSeq === 0n ? this.log.lastSeq : Number(beforeSeq) - 1;
        const begin = Math.max(0, end - limit);
        return { events: this.log.events.slice(begin, end), more: begin > 0 };
      },
      watch: ({ afterSeq }, { signal }) => this.#watch(Number(afterSeq), signal),
      submitPrompt: (request) => this.#submitPrompt(request),
      submitClientEvent: async ({ event }) => {
        if (event.case === "draft" && event.value.text.length > 1_000) {
          throw refusal("That is too long.", Code.InvalidArgument, ErrorCode.INVALID_INPUT);
        }
        this.submitted.push(event);
        if (event.case === "draft") this.writeDraft(event.value.text, event.value.clientId);
        await this.#letGo("submitClientEvent's answer");
        return {};
      },
      stopTurn: () => {
        this.write((log) => log.end(TurnState.CANCELED, "cancelled"));
        return { stopped: true };
      },
      resumeSession: () => ({ session: this.detail() }),
      setSessionConfig: ({ optionId, value }) => ({ options: [{ optionId, name: optionId, value }] }),
      writeTodos: ({ todos }) => ({ todos }),
    });
  }

  async *#watch(afterSeq: number, signal: AbortSignal): AsyncGenerator<{ update: Update }> {
    const life = this.#lives;
    this.watchedAfter.push(afterSeq);
    let sent = afterSeq;
    let revision = -1n;
    yield { update: { case: "heartbeat", value: {} } };
    for (;;) {
      const changed = this.#change(signal);
      const batch = this.log.events.slice(sent, sent + this.pace);
      for (const event of this.mangle(batch)) {
        yield { update: { case: "event", value: event } };
        if (life !== this.#lives) throw new ConnectError("killed", Code.Unavailable);
      }
      sent += batch.length;
      if (this.desk.revision > revision) {
        revision = this.desk.revision;
        yield { update: { case: "desk", value: this.desk } };
      }
      await changed;
      if (life !== this.#lives) throw new ConnectError("killed", Code.Unavailable);
      if (signal.aborted) return;
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wakers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#wakers.add(wake);
      signal.addEventListener("abort", wake);
    });
  }

  /** The prompt is in the log before the caller hears of it; in between anything may happen. */
  async #submitPrompt({ text, whenBusy }: SubmitPromptRequest): Promise<{ outcome: PromptOutcome }> {
    const life = this.#lives;
    if (text === "refuse")
      throw refusal("The agent is not installed.", Code.FailedPrecondition, ErrorCode.AGENT_NOT_FOUND);
    if (this.busy && whenBusy === WhenBusy.QUEUE) {
      const queued = create(QueuedPromptSchema, { promptId: `q${this.desk.queue.length + 1}`, text });
      this.setDesk({ queue: [...this.desk.queue, queued] });
      await this.#answering(life);
      return { outcome: { case: "queued", value: queued } };
    }
    this.write((log) => log.prompt(text));
    const event = this.log.events.at(-2);
    await this.#answering(life);
    return { outcome: event === undefined ? { case: undefined } : { case: "event", value: event } };
  }

  async #answering(life: number): Promise<void> {
    await this.#letGo("submitPrompt's answer");
    if (life !== this.#lives) throw new ConnectError("killed", Code.Unavailable);
  }
}

function refusal(message: string, code: Code, errorCode: ErrorCode): ConnectError {
  const value = { code: errorCode, suggestion: "Do something else.", recoverable: true };
  return new ConnectError(message, code, undefined, [{ desc: ErrorDetailsSchema, value }]);
}

export function createTestDraftStore(): DraftStore & { readonly words: Map<string, string> } {
  const words = new Map<string, string>();
  return {
    words,
    get: (key) => words.get(key),
    set(key, value) {
      if (value === undefined) words.delete(key);
      else words.set(key, value);
    },
  };
}

export function createTestMemory(): Memory {
  const values = new Map<string, unknown>();
  return { get: (key) => values.get(key), set: (key, value) => void values.set(key, value) };
}
