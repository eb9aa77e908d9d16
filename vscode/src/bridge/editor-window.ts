// This VS Code window, as the server's requests use it.

import * as vscode from "vscode";
import type { EditorRequest } from "../../../web/src/generated/portico/v1/agent_pb";
import type { WorkspaceFolders } from "../workspace-folders";
import type { Services } from "../services";
import { AttachedWindow, type EditorWindow, type EditorResult, type ProblemList } from "./attached-window";
import { applyEdits, unsavedPaths, unsavedText } from "./workspace-edits";
import { lookUp, problemsByFile } from "./language-lookups";
import { UserTerminals } from "./user-terminal";
import { availableTools, invokeTool, type WindowTool } from "./window-tools";
import type { RunningTurns } from "../models/open-turns";

/** Attaches the window and keeps it attached. Tools that came with a request are called by the turn that runs it. */
export function attachWindow(
  { server, connection, folders }: Services,
  turns: RunningTurns,
  terminals: UserTerminals,
): AttachedWindow {
  return new AttachedWindow(server, connection, new VsCodeWindow(folders, turns, terminals));
}

export function followWindow(attachment: AttachedWindow, terminals: UserTerminals): vscode.Disposable {
  const changed = (): void => attachment.changed();
  return vscode.Disposable.from(
    attachment,
    terminals,
    vscode.workspace.onDidChangeTextDocument(changed),
    vscode.workspace.onDidSaveTextDocument(changed),
    vscode.workspace.onDidCloseTextDocument(changed),
    vscode.window.onDidChangeWindowState(changed),
    vscode.languages.onDidChangeDiagnostics(() => attachment.problemsChanged()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => attachment.reattach()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => attachment.reattach()),
  );
}

class VsCodeWindow implements EditorWindow {
  readonly name = vscode.env.appName;
  readonly capabilities = { buffers: true, edits: true, lookups: true, commands: true };
  readonly #folders: WorkspaceFolders;
  readonly #turns: RunningTurns;
  readonly #terminals: UserTerminals;
  #editing: Promise<unknown> = Promise.resolve();

  constructor(folders: WorkspaceFolders, turns: RunningTurns, terminals: UserTerminals) {
    this.#folders = folders;
    this.#turns = turns;
    this.#terminals = terminals;
  }

  get problems(): ReadonlyMap<string, ProblemList> {
    return problemsByFile();
  }

  get tools(): WindowTool[] {
    return availableTools();
  }

  get folders(): readonly string[] {
    return vscode.workspace.isTrusted ? this.#folders.all : [];
  }

  get state(): EditorWindow["state"] {
    return { unsaved: unsavedPaths(), focused: vscode.window.state.focused };
  }

  /** The command does nothing, on the other side. If it does not exist, that is an answer too. */
  async responds(): Promise<void> {
    await vscode.commands.executeCommand("noop").then(undefined, () => undefined);
  }

  async answer(
    request: EditorRequest["request"],
    sessionId: string,
    signal: AbortSignal,
  ): Promise<EditorResult> {
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
        return { case: "command", value: await this.#terminals.run(request.value) };
      case "invokeTool": {
        const { name, inputJson } = request.value;
        const turn = this.#turns.withTool(sessionId, name);
        const calling = turn?.call({ name, inputJson }, signal) ?? invokeTool(request.value, signal);
        return { case: "tool", value: await calling };
      }
      case undefined:
        throw new Error("Unknown request. Update the extension.");
    }
  }
}
