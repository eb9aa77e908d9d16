// A task that gets a session of its own: words of the person's, or a prompt that is kept as a file.

import * as vscode from "vscode";
import type { KeptPrompt } from "../../../web/src/generated/portico/v1/agent_pb";
import { command, type Parts } from "../parts";
import type { Link } from "../server/link";
import { begin } from "./sessions";

interface Choice extends vscode.QuickPickItem {
  readonly prompt?: string;
}

/** Whoever gives the words along is not asked for them. */
export function taskCommand(parts: Parts): vscode.Disposable {
  return command("runTask", parts, async (given) => {
    const workspace = await parts.folders.choose();
    if (workspace === undefined) return;
    const task = typeof given === "string" ? given : await chooseTask(parts.link, workspace);
    if (task !== undefined && task.trim() !== "") await begin(parts, { task }, workspace);
  });
}

async function chooseTask(link: Link, workspace: string): Promise<string | undefined> {
  const { prompts } = await link.call((client) => client.listPrompts({ workspace }));
  const { typed, prompt } = await pick(prompts);
  return prompt === undefined ? typed : await filledIn(link, workspace, prompt);
}

interface Picked {
  readonly typed?: string;
  readonly prompt?: string;
}

/** What is typed is the first choice, unless it is how a kept prompt begins. */
function pick(prompts: readonly KeptPrompt[]): Promise<Picked> {
  const kept = prompts.map(({ name, description, problem }): Choice => ({
    label: `$(book) ${name}`,
    description: problem === "" ? description : `cannot be used: ${problem}`,
    prompt: name,
  }));
  const list = vscode.window.createQuickPick<Choice>();
  list.title = "Run Task";
  list.placeholder = "What is to be done";
  list.items = kept;
  list.onDidChangeValue((typed) => {
    const own: Choice = { label: typed, description: "in a session of its own", alwaysShow: true };
    list.items = typed.trim() === "" ? kept : [own, ...kept];
    const first = kept.find(({ prompt = "" }) => prompt.startsWith(typed.trim())) ?? own;
    if (typed.trim() !== "") list.activeItems = [first];
  });
  return new Promise((resolve) => {
    list.onDidAccept(() => {
      const prompt = list.selectedItems[0]?.prompt;
      // The line that repeats what is typed may be a letter behind.
      resolve(prompt === undefined ? { typed: list.value } : { prompt });
      list.hide();
    });
    list.onDidHide(() => {
      resolve({});
      list.dispose();
    });
    list.show();
  });
}

/** Undefined if the person leaves a question unanswered. */
async function filledIn(link: Link, workspace: string, name: string): Promise<string | undefined> {
  const { pieces } = await link.call((client) => client.getPrompt({ workspace, name }));
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
