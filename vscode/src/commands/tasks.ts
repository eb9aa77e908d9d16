// Runs a task in a new session: typed text, or a saved prompt.

import * as vscode from "vscode";
import { registerCommand } from "./registration";
import type { Services } from "../services";
import type { ServerConnection } from "../server/connection";
import { startSession } from "./sessions";

interface Choice extends vscode.QuickPickItem {
  readonly prompt?: string;
  readonly task?: string;
}

const TITLE = "Run Task";
const OWN: Choice = { label: "$(edit) Enter a task…" };

/** Asks for the task unless it is given. */
export function registerTaskCommand(services: Services): vscode.Disposable {
  return registerCommand("runTask", services, async (given) => {
    const workspace = await services.folders.choose();
    if (workspace === undefined) return;
    const task = typeof given === "string" ? given : await chooseTask(services.connection, workspace);
    if (task !== undefined && task.trim() !== "") await startSession(services, { task }, workspace);
  });
}

async function chooseTask(connection: ServerConnection, workspace: string): Promise<string | undefined> {
  const { prompts } = await connection.call((client) => client.listPrompts({ workspace }));
  const kept = prompts.map(({ name, description, problem }): Choice => ({
    label: `$(book) ${name}`,
    description: problem === "" ? description : `unusable: ${problem}`,
    prompt: name,
  }));
  const chosen = kept.length === 0 ? OWN : await pickOrType(kept);
  if (chosen?.prompt !== undefined) return await fillBlanks(connection, workspace, chosen.prompt);
  if (chosen === undefined || chosen.task !== undefined) return chosen?.task;
  return await vscode.window.showInputBox({
    title: TITLE,
    prompt: "Describe the task",
    ignoreFocusOut: true,
  });
}

/** A saved prompt, or what was typed in place of one. */
async function pickOrType(kept: readonly Choice[]): Promise<Choice | undefined> {
  const picker = vscode.window.createQuickPick<Choice>();
  picker.title = TITLE;
  picker.placeholder = "Select a saved prompt or enter a task";
  picker.items = [OWN, ...kept];
  try {
    return await new Promise((resolve) => {
      picker.onDidChangeValue((task) => {
        const typed: Choice = { label: `$(edit) ${task}`, alwaysShow: true, task };
        picker.items = task.trim() === "" ? [OWN, ...kept] : [...kept, typed];
      });
      picker.onDidAccept(() => {
        const { activeItems, value: task } = picker;
        // Someone who types quickly is done before the list has followed.
        resolve(activeItems[0] ?? (task.trim() === "" ? undefined : { label: task, task }));
      });
      picker.onDidHide(() => resolve(undefined));
      picker.show();
    });
  } finally {
    picker.dispose();
  }
}

/** Undefined if the person leaves a question unanswered. */
async function fillBlanks(
  connection: ServerConnection,
  workspace: string,
  name: string,
): Promise<string | undefined> {
  const { pieces } = await connection.call((client) => client.getPrompt({ workspace, name }));
  const values = new Map<string, string>();
  for (const { piece } of pieces) {
    if (piece.case !== "blank" || values.has(piece.value.name)) continue;
    const { name: title, description: prompt } = piece.value;
    const value = await vscode.window.showInputBox({
      title: `${name}: ${title}`,
      prompt,
      ignoreFocusOut: true,
    });
    if (value === undefined) return undefined;
    values.set(title, value);
  }
  return pieces
    .map(({ piece }) => (piece.case === "blank" ? (values.get(piece.value.name) ?? "") : (piece.value ?? "")))
    .join("");
}
