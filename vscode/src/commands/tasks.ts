// Runs a task in a new session: typed text, or a saved prompt.

import * as vscode from "vscode";
import { registerCommand } from "./registration";
import type { Services } from "../services";
import type { ServerConnection } from "../server/connection";
import { startSession } from "./sessions";

interface Choice extends vscode.QuickPickItem {
  readonly prompt?: string;
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
  const options = { title: TITLE, placeHolder: "Select a saved prompt or enter a task" };
  const chosen = kept.length === 0 ? OWN : await vscode.window.showQuickPick([OWN, ...kept], options);
  if (chosen?.prompt !== undefined) return await fillBlanks(connection, workspace, chosen.prompt);
  const asked = { title: TITLE, prompt: "Describe the task", ignoreFocusOut: true };
  return chosen && (await vscode.window.showInputBox(asked));
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
