// List of prompts, grouped by folder, with tags and a cost class; and the line that sums up a run.

import {
  PromptOrigin,
  type KeptPrompt,
  type ListModelsResponse,
  type PromptRunResult,
  type Setting,
} from "../generated/portico/v1/agent_pb";

/** Defaults of a run. */
export interface RunDefaults {
  readonly model: string;
  /** In dollars; undefined if it is not known. */
  readonly maxCost: number | undefined;
}

export function defaultsFrom(
  { models }: Pick<ListModelsResponse, "models">,
  settings: readonly Setting[],
): RunDefaults {
  const maxCost: unknown = JSON.parse(
    settings.find(({ name }) => name === "maxCostUsd")?.valueJson ?? "null",
  );
  return {
    model: models.find(({ isDefault }) => isDefault)?.name ?? "",
    maxCost: typeof maxCost === "number" ? maxCost : undefined,
  };
}

export interface PromptGroup {
  readonly title: string;
  readonly prompts: readonly KeptPrompt[];
}

const ORDER = [PromptOrigin.WORKSPACE, PromptOrigin.USER, PromptOrigin.BUILT_IN];
const LOW_COST = 0.05;
const MEDIUM_COST = 0.5;

/** One group per folder: those of the workspace, then of the user, then the built-in ones. */
export function groupPrompts(prompts: readonly KeptPrompt[], workspace: string): readonly PromptGroup[] {
  const groups = new Map<string, KeptPrompt[]>();
  for (const origin of ORDER) {
    for (const prompt of prompts) {
      if (prompt.origin !== origin) continue;
      const title = folderTitle(prompt, workspace);
      groups.set(title, [...(groups.get(title) ?? []), prompt]);
    }
  }
  return [...groups].map(([title, members]) => ({ title, prompts: members }));
}

export function describePrompt(prompt: KeptPrompt, usual: RunDefaults): string {
  const tags = prompt.tags.map((tag) => `#${tag}`).join(" ");
  return [tags, costClass(prompt, usual)].filter((part) => part !== "").join("  ·  ");
}

/** By the budget of the prompt; without one, the usual limit. Empty if that is not known. */
export function costClass(
  { model, budget }: Pick<KeptPrompt, "model" | "budget">,
  usual: RunDefaults,
): string {
  if ((model === "" ? usual.model : model).startsWith("offline:")) return "free";
  const limit = costLimit(budget, usual);
  if (limit === undefined) return "";
  const most = `up to ${dollars(limit)}`;
  // The usual limit says little about a prompt.
  if (!budget.includes("$")) return most;
  return `${limit <= LOW_COST ? "low" : limit <= MEDIUM_COST ? "medium" : "high"} cost, ${most}`;
}

/** The limit of the prompt, which can only lower the usual one. */
export function costLimit(budget: string, usual: RunDefaults): number | undefined {
  const own = /\$([\d.]+)/.exec(budget)?.[1];
  const limits = [own === undefined ? undefined : Number(own), usual.maxCost];
  const known = limits.filter((limit) => limit !== undefined && Number.isFinite(limit)) as number[];
  return known.length === 0 ? undefined : Math.min(...known);
}

export function dollars(amount: number): string {
  return amount === 0 || amount >= 0.01 ? `$${amount.toFixed(2)}` : `$${Number(amount.toPrecision(2))}`;
}

/** An amount that was typed; undefined if it is none. */
export function parseDollars(text: string): number | undefined {
  const amount = /^\$?(\d+(?:\.\d*)?|\.\d+)$/.exec(text.trim())?.[1];
  return amount === undefined ? undefined : Number(amount);
}

function folderTitle({ origin, path }: KeptPrompt, workspace: string): string {
  if (origin === PromptOrigin.BUILT_IN) return "Built-in";
  const folder = path.slice(0, Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")));
  const isInside = folder.startsWith(workspace) && /[\\/]/.test(folder.charAt(workspace.length));
  return isInside ? folder.slice(workspace.length + 1) : folder;
}

/** One line after a run: how it ended, with model, cost and time. */
export function runSummary(name: string, result: PromptRunResult): string {
  const { complete, error, model, costUsd, durationMs, finishReason } = result;
  const outcome = complete ? "finished" : error !== "" ? "failed" : (endings[finishReason] ?? "ended early");
  const cost = costUsd === undefined ? "" : dollars(costUsd);
  const facts = [model, cost, `${(Number(durationMs) / 1000).toFixed(1)} s`].filter((fact) => fact !== "");
  const answer = complete || result.text.trim() === "" ? "" : " The answer is incomplete.";
  return `${name} ${outcome} (${facts.join(", ")}).${error === "" ? "" : ` ${error}`}${answer}`;
}

const endings: Readonly<Record<string, string | undefined>> = {
  cancelled: "was cancelled",
  max_tokens: "reached the token limit of the model",
  refusal: "was refused by the model",
};
