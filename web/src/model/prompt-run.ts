// One run of a prompt file from the page: what is chosen, what streams, and the result.

import { computed, signal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import type { KeptPrompt, PromptRunResult } from "../generated/portico/v1/agent_pb";
import { failureOf } from "./call-failure";
import { defaultsFrom, parseDollars, type RunDefaults } from "./prompt-list";

/** The variable with the text that a prompt is run on. */
const INPUT = "input";

export class PromptRun {
  readonly workspace: string;
  readonly prompts = signal<readonly KeptPrompt[] | undefined>(undefined);
  readonly models = signal<readonly string[]>([]);
  readonly usual = signal<RunDefaults>({ model: "", maxCost: undefined });
  readonly chosen = signal<KeptPrompt | undefined>(undefined);
  readonly file = signal("");
  /** Typed values by the name of the variable. */
  readonly typed = signal<Readonly<Record<string, string>>>({});
  readonly model = signal("");
  readonly maxCost = signal("");
  readonly running = signal(false);
  readonly text = signal("");
  /** The agent's current activity. */
  readonly step = signal("");
  readonly result = signal<PromptRunResult | undefined>(undefined);
  readonly problem = signal("");
  readonly variables = computed(
    () => this.chosen.value?.variables.filter(({ name }) => name !== INPUT) ?? [],
  );
  readonly takesFile = computed(
    () => this.chosen.value?.variables.some(({ name }) => name === INPUT) ?? false,
  );
  readonly #gateway: Gateway;
  #sessionId = "";
  #cancelled = false;

  constructor(gateway: Gateway, workspace: string) {
    this.#gateway = gateway;
    this.workspace = workspace;
  }

  async load(): Promise<void> {
    const { client } = this.#gateway;
    const request = { workspace: this.workspace };
    await this.#attempt(async () => {
      const [{ prompts }, models, { settings }] = await Promise.all([
        client.listPrompts(request),
        client.listModels(request),
        client.getSettings(request),
      ]);
      this.usual.value = defaultsFrom(models, settings);
      this.models.value = models.models.map(({ name }) => name);
      this.prompts.value = prompts;
    });
  }

  choose(prompt: KeptPrompt | undefined): void {
    this.chosen.value = prompt;
    this.typed.value = Object.fromEntries(
      (prompt?.variables ?? []).map(({ name, sessionValue, defaultValue }) => [
        name,
        sessionValue ?? defaultValue ?? "",
      ]),
    );
    this.result.value = undefined;
    this.problem.value = "";
  }

  type(name: string, value: string): void {
    this.problem.value = "";
    this.typed.value = { ...this.typed.value, [name]: value };
  }

  /** Runs the chosen prompt, or reports missing values. */
  async run(): Promise<void> {
    const prompt = this.chosen.peek();
    if (prompt === undefined || this.running.peek()) return;
    this.problem.value = this.#whatIsMissing();
    if (this.problem.peek() !== "") return;
    [this.text.value, this.step.value, this.result.value] = ["", "", undefined];
    [this.#sessionId, this.#cancelled] = ["", false];
    this.running.value = true;
    await this.#attempt(() => this.#follow(prompt));
    this.running.value = false;
  }

  /** The answer so far stays, and is marked as incomplete. */
  cancel(): void {
    this.#cancelled = true;
    if (this.#sessionId === "") return;
    const { client } = this.#gateway;
    void this.#attempt(() => client.stopTurn({ sessionId: this.#sessionId }));
  }

  async saveVariables(): Promise<string> {
    const values = this.result.peek()?.savable ?? {};
    const saved = await this.#attempt(() =>
      this.#gateway.client.saveSessionVariables({ workspace: this.workspace, values }),
    );
    return saved?.path ?? "";
  }

  async #follow(prompt: KeptPrompt): Promise<void> {
    const request = {
      workspace: this.workspace,
      name: prompt.name,
      values: this.#values(),
      sourcePath: this.takesFile.peek() ? this.file.peek().trim() : "",
      model: this.model.peek(),
      maxCostUsd: parseDollars(this.maxCost.peek()),
    };
    for await (const { update } of this.#gateway.client.runPrompt(request)) {
      if (update.case === "result") {
        this.result.value = update.value;
        return;
      }
      if (update.case !== "event") continue;
      const { payload, sessionId } = update.value;
      if (this.#sessionId === "") {
        this.#sessionId = sessionId;
        if (this.#cancelled) this.cancel();
      }
      if (payload.case === "textDelta") this.text.value += payload.value.text;
      if (payload.case === "toolStarted") this.step.value = payload.value.title;
      if (payload.case === "permissionRequested")
        this.step.value = `Waiting for your answer in its session: ${payload.value.title}`;
    }
    this.problem.value = "The server stopped before the run ended. The answer so far is in its session.";
  }

  /** Changed values; the rest comes from the server. */
  #values(): Record<string, string> {
    const values: Record<string, string> = {};
    for (const { name, sessionValue, defaultValue } of this.variables.peek()) {
      const value = this.typed.peek()[name] ?? "";
      if (value !== (sessionValue ?? defaultValue)) values[name] = value;
    }
    return values;
  }

  #whatIsMissing(): string {
    if (this.takesFile.peek() && this.file.peek().trim() === "") return "Choose a file to run the prompt on.";
    const typed = this.typed.peek();
    const missing = this.variables
      .peek()
      .filter(({ name, sessionValue, defaultValue }) => {
        return (sessionValue ?? defaultValue) === undefined && (typed[name] ?? "").trim() === "";
      })
      .map(({ name }) => name);
    if (missing.length > 0) return `Enter a value for ${missing.join(" and ")}.`;
    const isAmount = this.maxCost.peek().trim() === "" || parseDollars(this.maxCost.peek()) !== undefined;
    return isAmount ? "" : "Enter the maximum cost in dollars, such as 0.50.";
  }

  async #attempt<T>(act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (reason) {
      this.problem.value = failureOf(reason).message;
      return undefined;
    }
  }
}
