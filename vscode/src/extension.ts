// The extension begins here. It starts nothing until somebody looks at it.

import { homedir } from "node:os";
import * as vscode from "vscode";
import { EditorContext } from "./editor/context";
import { findProgram } from "./server/program";
import { Server } from "./server/server";
import { CHAT_VIEW, ChatView } from "./view/chat-view";

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Portico", { log: true });
  const server = new Server(
    async () => {
      const program = await findProgram({
        named: vscode.workspace.getConfiguration("portico").get("program", ""),
        path: process.env["PATH"] ?? "",
        platform: process.platform,
      });
      const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? homedir();
      log.info(`the server is looked for, or started, by ${program} for ${folder}`);
      return { program, folder, environ: process.env };
    },
    (error) => {
      log.error(error instanceof Error ? error : String(error));
    },
  );
  const editor = new EditorContext();
  context.subscriptions.push(
    log,
    editor,
    vscode.window.registerWebviewViewProvider(
      CHAT_VIEW,
      new ChatView(context.extensionUri, server, editor, log),
    ),
    vscode.commands.registerCommand("portico.openChat", () =>
      vscode.commands.executeCommand(`${CHAT_VIEW}.focus`),
    ),
    vscode.commands.registerCommand("portico.showLog", () => log.show()),
  );
}
