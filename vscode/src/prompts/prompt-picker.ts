// The steps before a run: the prompt, one per variable, and the model and maximum cost of this run.

import * as vscode from "vscode";
import type { KeptPrompt, PromptVariable } from "../../../web/src/generated/portico/v1/agent_pb";
import {
  costLimit,
  defaultsFrom,
  describePrompt,
  dollars,
  groupPrompts,
  parseDollars,
  type RunDefaults,
} from "../../../web/src/model/prompt-list";
import type { ServerConnection } from "../server/connection";

/** The variable with the text that a prompt is run on. */
export const INPUT = "input";

export interface RunOverrides {
  readonly model?: string;
  readonly maxCostUsd?: number;
}

interface PromptItem extends vscode.QuickPickItem {
  readonly prompt?: KeptPrompt;
}

interface OverrideItem extends vscode.QuickPickItem {
  readonly act: "run" | "model" | "cost";
}

export async function readDefaults(connection: ServerConnection, workspace: string): Promise<RunDefaults> {
  const [models, { settings }] = await Promise.all([
    connection.call((client) => client.listModels({ workspace })),
    connection.call((client) => client.getSettings({ workspace })),
  ]);
  return defaultsFrom(models, settings);
}

export async function pickPrompt(
  prompts: readonly KeptPrompt[],
  workspace: string,
  usual: RunDefaults,
  title: string,
): Promise<KeptPrompt | undefined> {
  const items = groupPrompts(prompts, workspace).flatMap(
    ({ title: label, prompts: members }): PromptItem[] => [
      { label, kind: vscode.QuickPickItemKind.Separator },
      ...members.map((prompt) => ({
        label: prompt.name,
        description: prompt.problem === "" ? prompt.description : "cannot be used",
        detail: prompt.problem === "" ? describePrompt(prompt, usual) : `$(warning) ${prompt.problem}`,
        prompt,
      })),
    ],
  );
  const options = {
    title,
    placeHolder: "Select a prompt",
    matchOnDescription: true,
    matchOnDetail: true,
    ignoreFocusOut: true,
  };
  return (await vscode.window.showQuickPick(items, options))?.prompt;
}

/** The values that were typed; those left as they are come from the server. Undefined if the person leaves. */
export async function askValues(prompt: KeptPrompt): Promise<Record<string, string> | undefined> {
  const asked = prompt.variables.filter(({ name }) => name !== INPUT);
  const values: Record<string, string> = {};
  for (const [index, variable] of asked.entries()) {
    const usual = variable.sessionValue ?? variable.defaultValue;
    const typed = await askValue(prompt.name, variable, `${index + 1}/${asked.length}`);
    if (typed === undefined) return undefined;
    if (typed !== usual) values[variable.name] = typed;
  }
  return values;
}

function askValue(name: string, variable: PromptVariable, step: string): Thenable<string | undefined> {
  const usual = variable.sessionValue ?? variable.defaultValue;
  const source = variable.sessionValue === undefined ? "the default" : "the session variable";
  const keep = usual === undefined ? "" : usual === "" ? "Enter skips it." : `Enter keeps ${source}.`;
  const about = variable.description === "" ? "" : `${variable.description}.`;
  return vscode.window.showInputBox({
    title: `${name}: ${variable.name} (${step})`,
    prompt: [about, keep].filter((part) => part !== "").join(" "),
    value: usual ?? "",
    ignoreFocusOut: true,
    validateInput: (text) => (usual === undefined && text.trim() === "" ? "Enter a value." : undefined),
  });
}

/** Enter keeps the defaults. Undefined if the person leaves. */
export async function askOverrides(
  connection: ServerConnection,
  prompt: KeptPrompt,
  workspace: string,
  usual: RunDefaults,
): Promise<RunOverrides | undefined> {
  let chosen: RunOverrides = {};
  for (;;) {
    const model = chosen.model ?? (prompt.model === "" ? usual.model : prompt.model);
    const limit = chosen.maxCostUsd ?? costLimit(prompt.budget, usual);
    const cost = limit === undefined ? "no limit" : dollars(limit);
    const items: OverrideItem[] = [
      { label: "$(play) Run", description: [model, `up to ${cost}`].filter(Boolean).join(", "), act: "run" },
      { label: "$(server) Change Model…", description: model === "" ? "the agent's" : model, act: "model" },
      { label: "$(credit-card) Change Maximum Cost…", description: cost, act: "cost" },
    ];
    const title = `${prompt.name}: Run`;
    const placeHolder = "Changes apply to this run only";
    const picked = await vscode.window.showQuickPick(items, { title, placeHolder, ignoreFocusOut: true });
    if (picked === undefined) return undefined;
    if (picked.act === "run") return chosen;
    if (picked.act === "model") chosen = { ...chosen, ...(await askModel(connection, workspace)) };
    else chosen = { ...chosen, ...(await askCost(cost)) };
  }
}

async function askModel(connection: ServerConnection, workspace: string): Promise<RunOverrides> {
  const { models } = await connection.call((client) => client.listModels({ workspace }));
  const items = models.map(({ name, about }) => ({ label: name, description: about }));
  const options = { title: "Model of This Run", placeHolder: "Select a model", ignoreFocusOut: true };
  const picked = await vscode.window.showQuickPick(items, options);
  return picked === undefined ? {} : { model: picked.label };
}

async function askCost(value: string): Promise<RunOverrides> {
  const typed = await vscode.window.showInputBox({
    title: "Maximum Cost of This Run",
    prompt: "In dollars, such as 0.50",
    value: value.startsWith("$") ? value : "",
    ignoreFocusOut: true,
    validateInput: (text) =>
      parseDollars(text) === undefined ? "Enter an amount, such as 0.50." : undefined,
  });
  const maxCostUsd = typed === undefined ? undefined : parseDollars(typed);
  return maxCostUsd === undefined ? {} : { maxCostUsd };
}
