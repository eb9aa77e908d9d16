// Commands that add what VS Code shows to the chat: open tabs, problems, the terminal's selection, Git's changes.

import * as vscode from "vscode";
import { mentionText } from "../../../web/src/view/composer/mentions";
import { openTabs, shownProblems } from "../editor/open-tabs";
import { repositoryOf } from "../git/branch-status";
import type { Services } from "../services";
import { fenceText } from "./code-prompts";
import { registerCommand } from "./registration";

export function contextCommands(services: Services): vscode.Disposable[] {
  const { chat, current, folders, sessions } = services;
  const session = () => sessions.all.value.get(current.chosen ?? "");
  const nameOf = (file: vscode.Uri): string => mentionText(folders.nameOf(file, session()));
  const insert = async (text: string, otherwise: string): Promise<void> => {
    if (text === "") void vscode.window.showInformationMessage(`Portico: ${otherwise}`);
    else await chat.send({ name: "insert", text });
  };
  return [
    registerCommand("addOpenTabs", services, async () => {
      const names = openTabs().map(nameOf);
      await insert(names.length === 0 ? "" : `${names.join(" ")} `, "No files are open in tabs.");
    }),
    registerCommand("addProblems", services, async () => {
      const lines = shownProblems().map(
        ({ uri, line, severity, message }) => `- ${nameOf(uri)}, line ${line}: ${severity}: ${message}`,
      );
      await insert(lines.length === 0 ? "" : `Problems:\n${lines.join("\n")}\n`, "There are no problems.");
    }),
    registerCommand("addTerminalSelection", services, async () => {
      const text = await terminalSelection();
      await insert(
        text === "" ? "" : `From the terminal:\n\n${fenceText(text)}\n`,
        "Nothing is selected there.",
      );
    }),
    registerCommand("addGitChanges", services, async () => {
      const folder = session()?.workspace ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
      const repository = repositoryOf(folder);
      const changes = [await repository?.diff(true), await repository?.diff(false)];
      const text = changes.filter((part) => part !== undefined).join("");
      await insert(
        text === "" ? "" : `Git changes:\n\n${fenceText(text, "diff")}\n`,
        "There are no changes.",
      );
    }),
  ];
}

/** VS Code offers it by the clipboard only; the clipboard's text is restored afterwards. */
async function terminalSelection(): Promise<string> {
  const before = await vscode.env.clipboard.readText();
  await vscode.env.clipboard.writeText("");
  try {
    await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
    return await vscode.env.clipboard.readText();
  } finally {
    await vscode.env.clipboard.writeText(before);
  }
}
