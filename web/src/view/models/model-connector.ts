// Connects a model: stores the key, tests that the model answers, and sets it for Porter.

import { signal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import {
  ModelRole,
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
  /** As its provider calls it. */
  readonly model: string;
}

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
    });
  }

  async connect({ provider, key, model }: ConnectRequest): Promise<void> {
    const name = `${provider.name}:${model}`;
    await this.#attempt(async () => {
      if (key !== "") {
        this.#isBusy("Saving the key…");
        const { problem } = await storeKey(this.#gateway, provider.keyVariable, key);
        if (problem !== "") throw new Error(problem);
      }
      await this.#choose(name);
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
      await this.#choose(name);
    });
  }

  /** Takes the key of a provider away. */
  async forget({ keyVariable: name }: Provider): Promise<void> {
    await this.#attempt(async () => {
      const { done, problem } = await deleteKey(this.#gateway, name);
      if (problem !== "") throw new Error(problem);
      await this.#look();
      this.stage.value = { state: "done", words: done };
    });
  }

  /** Cancels what is in progress. */
  leave(): void {
    this.#leaving.abort();
  }

  async #choose(name: string): Promise<void> {
    this.#isBusy(`Testing ${name}…`);
    await this.#ask(name);
    const { client } = this.#gateway;
    await client.setSettings({ settings: [{ name: "model", valueJson: JSON.stringify(name) }] });
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

  /** The first sign of life will do. Fails in the provider's words. */
  async #ask(model: string): Promise<void> {
    const parts = [{ part: { case: "text" as const, value: QUESTION } }];
    const request = { workspace: this.#workspace, model, messages: [{ role: ModelRole.USER, parts }] };
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
      const { message, suggestion } = failureOf(reason);
      this.stage.value = { state: "problem", words: `${message} ${suggestion}`.trim() };
    }
  }
}
