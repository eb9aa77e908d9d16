// Connects a model: tests that it answers, then stores the key and sets it for Porter.

import { signal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import {
  KeyVerdict,
  ModelRole,
  type FoundModelServer,
  type ModelDownload,
  type Provider,
  type PullModelResponse,
} from "../../generated/portico/v1/agent_pb";
import { failureOf } from "../../model/call-failure";
import type { SessionModel } from "../../model/types";
import { deleteKey, storeKey } from "../cards/key-storage";

export type ConnectStage =
  { readonly state: "asking" } | { readonly state: "busy" | "problem" | "done"; readonly words: string };

export interface ConnectRequest {
  readonly provider: Provider;
  readonly key: string;
  /** The provider's name for the model. */
  readonly model: string;
}

export interface ServerRequest {
  readonly address: string;
  /** The API that it speaks. */
  readonly kind: "openai-chat" | "anthropic";
  /** Empty: it needs none. */
  readonly key: string;
  /** Empty: the only one that it has. */
  readonly model: string;
}

/** Values that a request tries before they are stored. */
interface Trial {
  readonly key: string;
  readonly server?: { readonly address: string; readonly kind: string };
}

/** A reason in words for the person. */
class ConnectProblem extends Error {}

const QUESTION = "Answer with one word: are you there?";
/** The choice of an agent's option that follows the settings. */
const FOLLOWS_SETTINGS = "default";

export class ModelConnector {
  readonly providers = signal<readonly Provider[]>([]);
  /** Porter's default model; empty without one. */
  readonly model = signal("");
  readonly stage = signal<ConnectStage>({ state: "busy", words: "Loading providers…" });
  /** Of the download in progress. */
  readonly progress = signal<PullModelResponse | undefined>(undefined);
  /** Servers of models that run on this machine. */
  readonly found = signal<readonly FoundModelServer[]>([]);
  /** Models of the server that was asked last, if it has several. */
  readonly served = signal<readonly string[]>([]);
  readonly #gateway: Gateway;
  readonly #session: SessionModel | undefined;
  readonly #leaving = new AbortController();

  /** The session in front uses the model at once, if its agent has one to choose. */
  constructor(gateway: Gateway, session: SessionModel | undefined) {
    this.#gateway = gateway;
    this.#session = session;
  }

  async begin(): Promise<void> {
    await this.#attempt(async () => {
      await this.#look();
      this.stage.value = { state: "asking" };
      const { signal } = this.#leaving;
      this.found.value = (await this.#gateway.client.findModelServers({}, { signal })).servers;
    });
  }

  async connect({ provider, key, model }: ConnectRequest): Promise<void> {
    const name = `${provider.name}:${model}`;
    await this.#attempt(async () => {
      await this.#test(name, { key });
      await this.#store(provider.keyVariable, key);
      await this.#choose(name);
    });
  }

  /** Connects a server of the person's own. Without a model, one with several is asked which there are. */
  async connectServer({ address, kind, key, model }: ServerRequest): Promise<void> {
    await this.#attempt(async () => {
      this.#isBusy(`Asking ${address}…`);
      const server = { address, kind };
      const { client } = this.#gateway;
      const found = await client.checkProvider({ workspace: this.#workspace, key, server });
      if (found.verdict === KeyVerdict.REFUSED)
        throw new ConnectProblem(key === "" ? `${address} needs a key.` : found.detail);
      if (model === "" && found.models.length !== 1) {
        this.served.value = found.models;
        throw new ConnectProblem(
          found.models.length === 0 ? `Enter a model. ${found.detail}` : "Choose one of its models.",
        );
      }
      const name = `${found.provider}:${model === "" ? (found.models[0] ?? "") : model}`;
      await this.#test(name, { key, server });
      await this.#store(found.keyVariable, key);
      await this.#choose(name, [
        [`models.${found.provider}.address`, found.address],
        [`models.${found.provider}.kind`, kind],
        ...(key === "" ? [] : [[`models.${found.provider}.keyVariable`, found.keyVariable] as const]),
      ]);
    });
  }

  /** Downloads a model to this machine and has Porter use it. */
  async pull({ name, title }: ModelDownload): Promise<void> {
    const { signal } = this.#leaving;
    await this.#attempt(async () => {
      this.#isBusy(`Downloading ${title}…`);
      try {
        for await (const progress of this.#gateway.client.pullModel({ name }, { signal }))
          this.progress.value = progress;
      } finally {
        this.progress.value = undefined;
      }
      await this.#test(name, { key: "" });
      await this.#choose(name);
    });
  }

  /** Takes the key of a provider away. */
  async forget({ keyVariable: name }: Provider): Promise<void> {
    await this.#attempt(async () => {
      const { done, problem } = await deleteKey(this.#gateway, name);
      if (problem !== "") throw new ConnectProblem(problem);
      await this.#look();
      this.stage.value = { state: "done", words: done };
    });
  }

  /** Cancels what is in progress. */
  leave(): void {
    this.#leaving.abort();
  }

  async #store(variable: string, key: string): Promise<void> {
    if (key === "") return;
    this.#isBusy("Saving the key…");
    const { problem } = await storeKey(this.#gateway, variable, key);
    if (problem !== "") throw new ConnectProblem(problem);
  }

  async #choose(name: string, others: readonly (readonly [string, string])[] = []): Promise<void> {
    const settings = [...others, ["model", name] as const];
    await this.#gateway.client.setSettings({
      settings: settings.map(([setting, value]) => ({ name: setting, valueJson: JSON.stringify(value) })),
    });
    await this.#look();
    await this.#useInFront();
    this.stage.value = { state: "done", words: this.#words(name) };
  }

  get #workspace(): string {
    return this.#session?.detail.peek()?.summary?.workspace ?? this.#gateway.workspace ?? "";
  }

  async #look(): Promise<void> {
    const { signal } = this.#leaving;
    const found = await this.#gateway.client.listProviders({ workspace: this.#workspace }, { signal });
    this.providers.value = found.providers;
    this.model.value = found.model;
  }

  /** The first sign of life will do. Fails in the words of the provider. */
  async #test(model: string, trial: Trial): Promise<void> {
    this.#isBusy(`Testing ${model}…`);
    const parts = [{ part: { case: "text" as const, value: QUESTION } }];
    const messages = [{ role: ModelRole.USER, parts }];
    const request = { workspace: this.#workspace, model, messages, ...trial };
    const { signal } = this.#leaving;
    for await (const { update } of this.#gateway.client.completeModel(request, { signal }))
      if (update.case === "text" || update.case === "thinking") return;
  }

  async #useInFront(): Promise<void> {
    const session = this.#session;
    const option = session?.detail.peek()?.options.find(({ category }) => category === "model");
    if (option?.choices.some(({ value }) => value === FOLLOWS_SETTINGS) === true)
      await session?.setOption(option.optionId, FOLLOWS_SETTINGS);
  }

  #words(name: string): string {
    const holds = this.model.peek();
    return holds === name
      ? `${name} works. Porter uses it from now on.`
      : `${name} works and is saved in your settings, but this folder uses ${holds}: its settings or PORTICO_MODEL override yours.`;
  }

  #isBusy(words: string): void {
    this.stage.value = { state: "busy", words };
  }

  async #attempt(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (reason) {
      if (this.#leaving.signal.aborted) return;
      this.stage.value = { state: "problem", words: problemText(reason) };
    }
  }
}

function problemText(reason: unknown): string {
  if (reason instanceof ConnectProblem) return reason.message;
  const { message, suggestion } = failureOf(reason);
  return `${message} ${suggestion}`.trim();
}
