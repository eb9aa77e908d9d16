// This window of VS Code, as the server asks for it.

import * as vscode from "vscode";
import type { EditorRequest } from "../../../web/src/generated/portico/v1/agent_pb";
import type { Folders } from "../folders";
import type { Parts } from "../parts";
import { Attachment, type EditorWindow, type Result } from "./attachment";
import { applyEdits, unsavedPaths, unsavedText } from "./edits";
import { lookUp } from "./lookups";
import { dispatch } from "./own-terminal";

export function lendWindow({ server, link, folders }: Parts): vscode.Disposable {
  const attachment = new Attachment(server, link, new VsCodeWindow(folders));
  const changed = (): void => attachment.changed();
  return vscode.Disposable.from(
    attachment,
    vscode.workspace.onDidChangeTextDocument(changed),
    vscode.workspace.onDidSaveTextDocument(changed),
    vscode.workspace.onDidCloseTextDocument(changed),
    vscode.window.onDidChangeWindowState(changed),
    vscode.workspace.onDidChangeWorkspaceFolders(() => attachment.begin()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => attachment.begin()),
  );
}

class VsCodeWindow implements EditorWindow {
  readonly name = vscode.env.appName;
  readonly capabilities = { buffers: true, edits: true, lookups: true, commands: true };
  readonly #folders: Folders;
  #editing: Promise<unknown> = Promise.resolve();

  constructor(folders: Folders) {
    this.#folders = folders;
  }

  get folders(): readonly string[] {
    return vscode.workspace.isTrusted ? this.#folders.all : [];
  }

  get state(): EditorWindow["state"] {
    return { unsaved: unsavedPaths(), focused: vscode.window.state.focused };
  }

  /** The command does nothing, on the other side. Where there is none, that is an answer too. */
  async isDrawn(): Promise<void> {
    await vscode.commands.executeCommand("noop").then(undefined, () => undefined);
  }

  async answer(request: EditorRequest["request"], signal: AbortSignal): Promise<Result> {
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
        return { case: "command", value: await dispatch(request.value) };
      case undefined:
        throw new Error("This editor does not know what is asked of it. Update the extension.");
    }
  }
}
