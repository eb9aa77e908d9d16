// Files in the tabs of this window, and the problems that VS Code shows.

import * as vscode from "vscode";

const SEVERITIES = ["error", "warning", "information", "hint"];
const MOST_PROBLEMS = 50;

export interface ShownProblem {
  readonly uri: vscode.Uri;
  /** Counts from one. */
  readonly line: number;
  readonly severity: string;
  readonly message: string;
}

export function openTabs(): vscode.Uri[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const files = tabs.flatMap(({ input }) =>
    input instanceof vscode.TabInputText && input.uri.scheme === "file" ? [input.uri] : [],
  );
  return [...new Map(files.map((uri) => [uri.fsPath, uri])).values()];
}

/** Most severe first. */
export function shownProblems(): ShownProblem[] {
  const all = vscode.languages
    .getDiagnostics()
    .filter(([uri]) => uri.scheme === "file")
    .flatMap(([uri, found]) => found.map((one) => ({ uri, one })));
  all.sort((one, other) => one.one.severity - other.one.severity);
  return all.slice(0, MOST_PROBLEMS).map(({ uri, one }) => ({
    uri,
    line: one.range.start.line + 1,
    severity: SEVERITIES[one.severity] ?? "information",
    message: one.message,
  }));
}
