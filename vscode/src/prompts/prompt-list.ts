// How prompts are listed: grouped by folder, with tags and a cost class.

import { dirname, relative } from "node:path";
import { PromptOrigin, type KeptPrompt } from "../../../web/src/generated/portico/v1/agent_pb";

/** What a run uses unless the prompt or the person says otherwise. */
export interface RunDefaults {
  readonly model: string;
  /** In dollars; undefined if it is not known. */
  readonly maxCost: number | undefined;
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
  const folder = dirname(path);
  const inside = relative(workspace, folder);
  return inside.startsWith("..") ? folder : inside;
}
