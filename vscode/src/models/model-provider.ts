// Provides Portico's agents and models to VS Code. A model answers through the server and VS Code runs its tools; an
// agent works in a session of its own.

import * as vscode from "vscode";
import type { ModelToolCall } from "../../../web/src/generated/portico/v1/agent_pb";
import type { Services } from "../services";
import { parseAnswer as objectIn } from "../server/program-runner";
import { modelRequest, isSystem, messageText, type ChatMessages } from "./model-request";
import { listedAgent, listedModel, type ListedModel } from "./listed-models";
import { withHistory, splitPrompt, ConversationSessions } from "./conversation-sessions";
import { startAgentSession, existingSession, runTurn } from "./agent-turn";

export const VENDOR = "portico";
const KEPT = "offers";
const LETTERS_A_TOKEN = 4;

type Progress = vscode.Progress<vscode.LanguageModelResponsePart>;

/** Where the interface has it, which is not yet published. */
const { LanguageModelThinkingPart: ThinkingPart } = vscode as {
  readonly LanguageModelThinkingPart?: new (value: string) => vscode.LanguageModelTextPart;
};

export class ModelProvider implements vscode.LanguageModelChatProvider<ListedModel>, vscode.Disposable {
  readonly #services: Services;
  readonly #memory: vscode.Memento;
  readonly #sessions = new ConversationSessions();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeLanguageModelChatInformation = this.#changed.event;

  constructor(services: Services, memory: vscode.Memento) {
    this.#services = services;
    this.#memory = memory;
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
    { toolMode }: vscode.ProvideLanguageModelChatResponseOptions,
    progress: Progress,
    token: vscode.CancellationToken,
  ): Promise<void> {
    if (toolMode === vscode.LanguageModelChatToolMode.Required)
      throw new Error(`${agent} is an agent with its own tools and cannot call others.`);
    const { connection, folders } = this.#services;
    const said = messages
      .filter((message) => !isSystem(message))
      .map((message) => ({
        isAgent: message.role === vscode.LanguageModelChatMessageRole.Assistant,
        text: messageText(message),
      }));
    const { before, prompt } = splitPrompt(said);
    const known = await existingSession(connection, this.#sessions.find(agent, before));
    const sessionId = known ?? (await startAgentSession(connection, agent, folders.main));
    let answer = "";
    const text = known === undefined ? withHistory(before, prompt) : prompt;
    await runTurn(connection, { sessionId, text }, token, {
      text: (words) => {
        answer += words;
        progress.report(new vscode.LanguageModelTextPart(words));
      },
      thinking: (words) => think(progress, words),
      step: (words) => think(progress, `${words}\n`),
    });
    this.#sessions.keep(agent, [...said, { isAgent: true, text: answer }], sessionId);
  }
}

function think(progress: Progress, words: string): void {
  if (ThinkingPart !== undefined) progress.report(new ThinkingPart(words));
}

/** Arguments that are no object are what the tool would refuse anyway. */
function callPart({ callId, name, argumentsJson }: ModelToolCall): vscode.LanguageModelToolCallPart {
  const input = objectIn(argumentsJson) ?? { malformed: argumentsJson };
  return new vscode.LanguageModelToolCallPart(callId, name, input);
}
