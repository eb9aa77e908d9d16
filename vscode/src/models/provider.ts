// Portico's agents and models in VS Code's own list. A bare model is asked through the server, and VS Code runs its
// tools; an agent works by itself, in a session that can be opened in Portico as any other.

import * as vscode from "vscode";
import type { ModelToolCall } from "../../../web/src/generated/portico/v1/agent_pb";
import type { Parts } from "../parts";
import { answerOf as objectIn } from "../server/running";
import { conversationOf, isSystem, textOf, type Messages } from "./conversation";
import { agentOffer, modelOffer, type Offer } from "./offers";
import { retold, split, Talks } from "./talks";
import { beginSession, ifKept, runTurn } from "./turn";

export const VENDOR = "portico";
const KEPT = "offers";
const LETTERS_A_TOKEN = 4;

type Progress = vscode.Progress<vscode.LanguageModelResponsePart>;

/** Where the interface has it, which is not yet published. */
const { LanguageModelThinkingPart: ThinkingPart } = vscode as {
  readonly LanguageModelThinkingPart?: new (value: string) => vscode.LanguageModelTextPart;
};

export class Provider implements vscode.LanguageModelChatProvider<Offer>, vscode.Disposable {
  readonly #parts: Parts;
  readonly #memory: vscode.Memento;
  readonly #talks = new Talks();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeLanguageModelChatInformation = this.#changed.event;

  constructor(parts: Parts, memory: vscode.Memento) {
    this.#parts = parts;
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
  }: vscode.PrepareLanguageModelChatModelOptions): Promise<Offer[]> {
    if (!vscode.workspace.isTrusted) return [];
    const { link, folders, log } = this.#parts;
    if (!silent || link.isUp) {
      try {
        const workspace = folders.main;
        const offers = await link.call(async (client) => {
          const [{ agents }, { models }] = await Promise.all([
            client.listAgents({ workspace }),
            client.listModels({ workspace }),
          ]);
          return [...agents.filter(({ installed }) => installed).map(agentOffer), ...models.map(modelOffer)];
        });
        await this.#memory.update(KEPT, offers);
        return offers;
      } catch (reason) {
        log.warn(`models cannot be listed: ${String(reason)}`);
      }
    }
    return this.#memory.get<Offer[]>(KEPT, []);
  }

  async provideLanguageModelChatResponse(
    { agent, model = "" }: Offer,
    messages: Messages,
    options: vscode.ProvideLanguageModelChatResponseOptions,
    progress: Progress,
    token: vscode.CancellationToken,
  ): Promise<void> {
    if (agent === undefined) await this.#complete(model, messages, options, progress, token);
    else await this.#talk(agent, messages, options, progress, token);
  }

  /** A guess: only the provider knows how it counts. */
  provideTokenCount(_: Offer, text: string | Messages[number]): Promise<number> {
    const words = typeof text === "string" ? text : textOf(text);
    return Promise.resolve(Math.ceil(words.length / LETTERS_A_TOKEN));
  }

  async #complete(
    model: string,
    messages: Messages,
    options: vscode.ProvideLanguageModelChatResponseOptions,
    progress: Progress,
    token: vscode.CancellationToken,
  ): Promise<void> {
    const { link, folders, log } = this.#parts;
    const stop = new AbortController();
    const cancelling = token.onCancellationRequested(() => stop.abort());
    const request = { workspace: folders.main, model, ...conversationOf(messages, options) };
    try {
      await link.call(async (client) => {
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

  async #talk(
    agent: string,
    messages: Messages,
    { toolMode }: vscode.ProvideLanguageModelChatResponseOptions,
    progress: Progress,
    token: vscode.CancellationToken,
  ): Promise<void> {
    if (toolMode === vscode.LanguageModelChatToolMode.Required)
      throw new Error(`${agent} is an agent with tools of its own and calls no others.`);
    const { link, folders } = this.#parts;
    const said = messages
      .filter((message) => !isSystem(message))
      .map((message) => ({
        isAgent: message.role === vscode.LanguageModelChatMessageRole.Assistant,
        text: textOf(message),
      }));
    const { before, prompt } = split(said);
    const known = await ifKept(link, this.#talks.find(agent, before));
    const sessionId = known ?? (await beginSession(link, agent, folders.main));
    let answer = "";
    const text = known === undefined ? retold(before, prompt) : prompt;
    await runTurn(link, { sessionId, text }, token, {
      text: (words) => {
        answer += words;
        progress.report(new vscode.LanguageModelTextPart(words));
      },
      thinking: (words) => think(progress, words),
      step: (words) => think(progress, `${words}\n`),
    });
    this.#talks.keep(agent, [...said, { isAgent: true, text: answer }], sessionId);
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
