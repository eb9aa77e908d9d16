// State of the editor for agents in a terminal: absolute paths, lines from one.

import { join } from "node:path";
import * as vscode from "vscode";
import type { EditorContext } from "./context";
import { openTabs, shownProblems } from "./open-tabs";
import { STATE_VARIABLE, StateFile, type EditorProblem, type EditorState } from "./state-file";

/** Keeps the file of this window, and names it to the programs in its terminals. */
export function writeStateFile(context: vscode.ExtensionContext, editor: EditorContext): vscode.Disposable {
  const folder = (context.storageUri ?? context.globalStorageUri).fsPath;
  const path = join(folder, `editor-state-${process.pid}.json`);
  const variables = context.environmentVariableCollection;
  variables.persistent = false;
  variables.description = "Tells agents in the terminal which file is open";
  variables.replace(STATE_VARIABLE, path);
  const file = new StateFile(path, () => readState(editor));
  const changed = (): void => file.changed();
  changed();
  return vscode.Disposable.from(
    editor.listen(changed),
    vscode.window.tabGroups.onDidChangeTabs(changed),
    vscode.languages.onDidChangeDiagnostics(changed),
    vscode.workspace.onDidChangeWorkspaceFolders(changed),
    new vscode.Disposable(() => void file.dispose()),
  );
}

function readState(editor: EditorContext): EditorState {
  const document = editor.document;
  const selection = editor.now?.selection;
  const folders = vscode.workspace.workspaceFolders ?? [];
  return {
    ...(document?.uri.scheme === "file" && {
      activeFile: document.uri.fsPath,
      languageId: document.languageId,
    }),
    ...(selection !== undefined && { selection }),
    openFiles: openTabs().map(({ fsPath }) => fsPath),
    diagnostics: shownProblems().map(({ uri, ...problem }): EditorProblem => ({
      ...problem,
      path: uri.fsPath,
    })),
    workspaceFolders: folders.map(({ uri }) => uri.fsPath),
  };
}
