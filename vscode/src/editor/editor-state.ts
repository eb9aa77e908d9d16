// State of the editor for agents in a terminal: absolute paths, lines from one.

import { join } from "node:path";
import * as vscode from "vscode";
import type { EditorContext } from "./context";
import { STATE_VARIABLE, StateFile, type EditorProblem, type EditorState } from "./state-file";

const MOST_DIAGNOSTICS = 50;
const SEVERITIES = ["error", "warning", "information", "hint"];

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
    openFiles: openFiles(),
    diagnostics: diagnostics(),
    workspaceFolders: folders.map(({ uri }) => uri.fsPath),
  };
}

function openFiles(): string[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const files = tabs.flatMap(({ input }) =>
    input instanceof vscode.TabInputText && input.uri.scheme === "file" ? [input.uri.fsPath] : [],
  );
  return [...new Set(files)];
}

/** Most severe first. */
function diagnostics(): EditorProblem[] {
  const all = vscode.languages
    .getDiagnostics()
    .filter(([uri]) => uri.scheme === "file")
    .flatMap(([uri, found]) => found.map((one) => ({ uri, one })));
  all.sort((one, other) => one.one.severity - other.one.severity);
  return all.slice(0, MOST_DIAGNOSTICS).map(({ uri, one }) => ({
    message: one.message,
    path: uri.fsPath,
    line: one.range.start.line + 1,
    severity: SEVERITIES[one.severity] ?? "information",
  }));
}
