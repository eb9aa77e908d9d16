// This VS Code window, as the server's requests use it.

import * as vscode from "vscode";
import type { EditorRequest } from "../../../web/src/generated/portico/v1/agent_pb";
import type { WorkspaceFolders } from "../workspace-folders";
import type { Services } from "../services";
import { AttachedWindow, type EditorWindow, type EditorResult } from "./attached-window";
import { applyEdits, unsavedPaths, unsavedText } from "./workspace-edits";
import { lookUp } from "./language-lookups";
import { runInTerminal } from "./user-terminal";

export function attachWindow({ server, connection, folders }: Services): vscode.Disposable {
  const attachment = new AttachedWindow(server, connection, new VsCodeWindow(folders));
  const changed = (): void => attachment.changed();
  return vscode.Disposable.from(
    attachment,
    vscode.workspace.onDidChangeTextDocument(changed),
    vscode.workspace.onDidSaveTextDocument(changed),
    vscode.workspace.onDidCloseTextDocument(changed),
    vscode.window.onDidChangeWindowState(changed),
    vscode.workspace.onDidChangeWorkspaceFolders(() => attachment.reattach()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => attachment.reattach()),
  );
}

class VsCodeWindow implements EditorWindow {
  readonly name = vscode.env.appName;
  readonly capabilities = { buffers: true, edits: true, lookups: true, commands: true };
  readonly #folders: WorkspaceFolders;
  #editing: Promise<unknown> = Promise.resolve();

  constructor(folders: WorkspaceFolders) {
    this.#folders = folders;
  }

  get folders(): readonly string[] {
    return vscode.workspace.isTrusted ? this.#folders.all : [];
  }

  get state(): EditorWindow["state"] {
    return { unsaved: unsavedPaths(), focused: vscode.window.state.focused };
  }

  /** The command does nothing, on the other side. Where there is none, that is an answer too. */
  async responds(): Promise<void> {
    await vscode.commands.executeCommand("noop").then(undefined, () => undefined);
  }

  async answer(request: EditorRequest["request"], signal: AbortSignal): Promise<EditorResult> {
    switch (request.case) {
      case "readBuffer": {
        const text = unsavedText(request.value.path);
        return { case: "buffer", value: text === undefined ? {} : { text } };
      }
      case "applyEdits": {
        const editing = this.#editing.then(() => applyEdits(request.value, signal));
        // Two edits at once could each find what the other has just changed.
        this.#editing = editing.catch(() => undefined);
        return { case: "edits", value: await editing };
      }
      case "lookup":
        return { case: "findings", value: await lookUp(request.value, signal) };
      case "dispatchCommand":
        return { case: "command", value: await runInTerminal(request.value) };
      case undefined:
        throw new Error("Unknown request. Update the extension.");
    }
  }
}
