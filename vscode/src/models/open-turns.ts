// Turns of agents that VS Code's requests to a model run. A turn may take several requests: a tool that came with a
// request is called by VS Code, which ends its request, calls the tool and sends a new request with the result.

import type { ToolResult } from "../bridge/window-tools";

export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  readonly inputJson: string;
}

export type TurnPart =
  | { readonly case: "text"; readonly value: string }
  | { readonly case: "thinking"; readonly value: string }
  | { readonly case: "call"; readonly value: ToolCall };

/** Calls that come at the same time go to VS Code in one response. A later one goes with the next. */
const SETTLED = 50;

interface OpenCall {
  readonly resolve: (result: ToolResult) => void;
}

export class RunningTurn {
  readonly #calls = new Map<string, OpenCall>();
  #parts: TurnPart[] = [];
  #take: ((part: TurnPart) => void) | undefined;
  #pause: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #done: Promise<void> = Promise.resolve();

  constructor(
    readonly sessionId: string,
    /** Names of the tools that came with the last request. */
    public tools: ReadonlySet<string>,
    readonly cancel: () => void,
  ) {}

  /** Does the turn's work, which may outlive the request that began it. */
  begin(work: Promise<void>): void {
    this.#done = work;
    // Its end is reported to the request that waits for it, if one does.
    work.catch(() => undefined);
  }

  report(part: TurnPart): void {
    if (this.#take === undefined) {
      this.#parts.push(part);
      return;
    }
    this.#take(part);
    if (part.case === "call") this.#settle();
  }

  /** Passes on what the turn reports until it has ended, or has calls for VS Code. Rejects if the turn fails. */
  async receive(take: (part: TurnPart) => void): Promise<"ended" | "called"> {
    this.#take = take;
    const called = new Promise<"called">((resolve) => (this.#pause = () => resolve("called")));
    for (const part of this.#parts.splice(0)) this.report(part);
    try {
      return await Promise.race([called, this.#done.then(() => "ended" as const)]);
    } finally {
      this.#take = undefined;
      clearTimeout(this.#timer);
    }
  }

  /** Has VS Code call a tool. */
  call(tool: Omit<ToolCall, "callId">, signal: AbortSignal): Promise<ToolResult> {
    const callId = crypto.randomUUID();
    return new Promise((resolve, reject) => {
      this.#calls.set(callId, { resolve });
      const giveUp = (): void => {
        this.#calls.delete(callId);
        this.#parts = this.#parts.filter((part) => part.case !== "call" || part.value.callId !== callId);
        reject(new Error(`The call of ${tool.name} was cancelled.`));
      };
      signal.addEventListener("abort", giveUp, { once: true });
      this.report({ case: "call", value: { callId, ...tool } });
    });
  }

  hasCall(callId: string): boolean {
    return this.#calls.has(callId);
  }

  answer(callId: string, result: ToolResult): void {
    this.#calls.get(callId)?.resolve(result);
    this.#calls.delete(callId);
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#pause, SETTLED);
  }
}

export class RunningTurns {
  readonly #turns = new Map<string, RunningTurn>();

  start(turn: RunningTurn, work: () => Promise<void>): void {
    const { sessionId } = turn;
    this.#turns.set(sessionId, turn);
    turn.begin(
      work().finally(() => {
        if (this.#turns.get(sessionId) === turn) this.#turns.delete(sessionId);
      }),
    );
  }

  /** The turn that waits for the results of one of these calls. */
  waitingFor(callIds: readonly string[]): RunningTurn | undefined {
    return [...this.#turns.values()].find((turn) => callIds.some((callId) => turn.hasCall(callId)));
  }

  /** The turn of a session whose request came with this tool. */
  withTool(sessionId: string, name: string): RunningTurn | undefined {
    const turn = this.#turns.get(sessionId);
    return turn?.tools.has(name) === true ? turn : undefined;
  }
}
