// Provides Portico's agents and models to VS Code. A model answers through the server and VS Code runs its tools; an
// agent works in a session of its own, and has VS Code run the tools that came with the request.

import * as vscode from "vscode";
import type { ModelToolCall } from "../../../web/src/generated/portico/v1/agent_pb";
import type { Services } from "../services";
import { parseAnswer as objectIn } from "../server/program-runner";
import type { AttachedWindow } from "../bridge/attached-window";
import { resultOf, toolOf } from "../bridge/window-tools";
import {
  imageAttachments,
  isSystem,
  messageText,
  modelRequest,
  toolResults,
  type ChatMessages,
} from "./model-request";
import { listedAgent, listedModel, type ListedModel } from "./listed-models";
import { withHistory, splitPrompt, ConversationSessions, type ChatMessage } from "./conversation-sessions";
import { RunningTurn, type RunningTurns, type TurnPart } from "./open-turns";
import { startAgentSession, existingSession, runTurn } from "./agent-turn";

export const VENDOR = "portico";
const KEPT = "offers";
const LETTERS_A_TOKEN = 4;

type Progress = vscode.Progress<vscode.LanguageModelResponsePart>;

/** Property that is not part of the published interface yet. */
const { LanguageModelThinkingPart: ThinkingPart } = vscode as {
  readonly LanguageModelThinkingPart?: new (value: string) => vscode.LanguageModelTextPart;
};

export class ModelProvider implements vscode.LanguageModelChatProvider<ListedModel>, vscode.Disposable {
  readonly #services: Services;
  readonly #memory: vscode.Memento;
  readonly #sessions = new ConversationSessions();
  readonly #turns: RunningTurns;
  readonly #window: AttachedWindow;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeLanguageModelChatInformation = this.#changed.event;

  constructor(
    services: Services,
    memory: vscode.Memento,
    { turns, window }: { readonly turns: RunningTurns; readonly window: AttachedWindow },
  ) {
    this.#services = services;
    this.#memory = memory;
    this.#turns = turns;
    this.#window = window;
  }

  dispose(): void {
    this.#changed.dispose();
  }

  /** A server that has just been found, or other keys: other models. */
  refresh(): void {
    this.#changed.fire();
  }

  /** VS Code asks for the list at its start already. The server is not started for that: the last one will do. */
  async provideLanguageModelChatInformation({
    silent,
  }: vscode.PrepareLanguageModelChatModelOptions): Promise<ListedModel[]> {
    if (!vscode.workspace.isTrusted) return [];
    const { connection, folders, log } = this.#services;
    if (!silent || connection.isRunning) {
      try {
        const workspace = folders.main;
        const offers = await connection.call(async (client) => {
          const [{ agents }, { models }] = await Promise.all([
            client.listAgents({ workspace }),
            client.listModels({ workspace }),
          ]);
          return [
            ...agents.filter(({ installed }) => installed).map(listedAgent),
            ...models.map(listedModel),
          ];
        });
        await this.#memory.update(KEPT, offers);
        return offers;
      } catch (reason) {
        log.warn(`cannot list models: ${String(reason)}`);
      }
    }
    return this.#memory.get<ListedModel[]>(KEPT, []);
  }

  async provideLanguageModelChatResponse(
    { agent, model = "" }: ListedModel,
    messages: ChatMessages,
    options: vscode.ProvideLanguageModelChatResponseOptions,
    progress: Progress,
    token: vscode.CancellationToken,
  ): Promise<void> {
    if (agent === undefined) await this.#complete(model, messages, options, progress, token);
    else await this.#runAgent(agent, messages, options, progress, token);
  }

  /** A guess: only the provider knows how it counts. */
  provideTokenCount(_: ListedModel, text: string | ChatMessages[number]): Promise<number> {
    const words = typeof text === "string" ? text : messageText(text);
    return Promise.resolve(Math.ceil(words.length / LETTERS_A_TOKEN));
  }

  async #complete(
    model: string,
    messages: ChatMessages,
    options: vscode.ProvideLanguageModelChatResponseOptions,
    progress: Progress,
    token: vscode.CancellationToken,
  ): Promise<void> {
    const { connection, folders, log } = this.#services;
    const stop = new AbortController();
    const cancelling = token.onCancellationRequested(() => stop.abort());
    const request = { workspace: folders.main, model, ...modelRequest(messages, options) };
    try {
      await connection.call(async (client) => {
        for await (const { update } of client.completeModel(request, { signal: stop.signal })) {
          if (update.case === "text") progress.report(new vscode.LanguageModelTextPart(update.value));
          if (update.case === "thinking") think(progress, update.value);
          if (update.case === "call") progress.report(callPart(update.value));
          if (update.case === "notice") log.info(`${model}: ${update.value}`);
        }
      });
    } catch (reason) {
      if (token.isCancellationRequested) throw new vscode.CancellationError();
      throw reason;
    } finally {
      cancelling.dispose();
    }
  }

  async #runAgent(
    agent: string,
    messages: ChatMessages,
    options: vscode.ProvideLanguageModelChatResponseOptions,
    progress: Progress,
    token: vscode.CancellationToken,
  ): Promise<void> {
    if (options.toolMode === vscode.LanguageModelChatToolMode.Required)
      throw new Error(`${agent} is an agent and decides by itself which tools it calls.`);
    const spoken = messages.filter((message) => !isSystem(message));
    const said = spoken.map((message) => ({
      isAgent: message.role === vscode.LanguageModelChatMessageRole.Assistant,
      text: messageText(message),
    }));
    const turn =
      this.#continueTurn(messages, options) ?? (await this.#startTurn(agent, said, spoken, options));
    const cancelling = token.onCancellationRequested(turn.cancel);
    if (token.isCancellationRequested) turn.cancel();
    let answer = "";
    try {
      await turn.receive((part) => {
        if (part.case === "text") answer += part.value;
        reportPart(progress, part);
      });
    } finally {
      cancelling.dispose();
    }
    this.#sessions.keep(agent, [...said, { isAgent: true, text: answer }], turn.sessionId);
  }

  /** The turn that the results of tools in these messages are for. */
  #continueTurn(
    messages: ChatMessages,
    { tools = [] }: vscode.ProvideLanguageModelChatResponseOptions,
  ): RunningTurn | undefined {
    const results = toolResults(messages);
    const turn = this.#turns.waitingFor(results.map(({ callId }) => callId));
    if (turn === undefined) return undefined;
    turn.tools = new Set(tools.map(({ name }) => name));
    for (const { callId, content } of results) turn.answer(callId, resultOf(content));
    return turn;
  }

  async #startTurn(
    agent: string,
    said: readonly ChatMessage[],
    spoken: ChatMessages,
    { tools = [] }: vscode.ProvideLanguageModelChatResponseOptions,
  ): Promise<RunningTurn> {
    const { connection, folders, log } = this.#services;
    const { before, prompt } = splitPrompt(said);
    const known = await existingSession(connection, this.#sessions.find(agent, before));
    const sessionId = known ?? (await startAgentSession(connection, agent, folders.main));
    if (tools.length > 0 && !(await this.#window.announceTools(sessionId, tools.map(toolOf))))
      log.warn(`${agent} gets no tools of this request: the window is not attached to the server.`);
    const text = known === undefined ? withHistory(before, prompt) : prompt;
    const attachments = imageAttachments(spoken.slice(before.length));
    const cancelling = new vscode.CancellationTokenSource();
    const names = new Set(tools.map(({ name }) => name));
    const turn = new RunningTurn(sessionId, names, () => cancelling.cancel());
    this.#turns.start(turn, () =>
      runTurn(connection, { sessionId, text, attachments }, cancelling.token, {
        text: (value) => turn.report({ case: "text", value }),
        thinking: (value) => turn.report({ case: "thinking", value }),
        step: (words) => turn.report({ case: "thinking", value: `${words}\n` }),
      }),
    );
    return turn;
  }
}

function reportPart(progress: Progress, part: TurnPart): void {
  if (part.case === "text") progress.report(new vscode.LanguageModelTextPart(part.value));
  else if (part.case === "thinking") think(progress, part.value);
  else progress.report(callPart({ ...part.value, argumentsJson: part.value.inputJson }));
}

function think(progress: Progress, words: string): void {
  if (ThinkingPart !== undefined) progress.report(new ThinkingPart(words));
}

/** Arguments that are no object are what the tool would refuse anyway. */
function callPart({
  callId,
  name,
  argumentsJson,
}: Pick<ModelToolCall, "callId" | "name" | "argumentsJson">): vscode.LanguageModelToolCallPart {
  const input = objectIn(argumentsJson) ?? { malformed: argumentsJson };
  return new vscode.LanguageModelToolCallPart(callId, name, input);
}
