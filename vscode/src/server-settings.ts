// VS Code settings for the server, passed as flags and environment when it starts. A running server is not changed.

import * as vscode from "vscode";

const BUDGETS = ["turn", "session", "day"] as const;
/** A change of these is of use only to the next server. */
const FOR_THE_START = ["portico.port", "portico.budget", "portico.bypassPermissions"];

export function configuredPort(): number {
  return settings().get<number>("port", 0);
}

export function serverEnvironment(): Record<string, string> {
  const bypassed = settings().get<string[]>("bypassPermissions", []);
  const budgets = BUDGETS.map((scope): [string, string] => [
    `PORTICO_BUDGET_${scope.toUpperCase()}`,
    settings().get<string>(`budget.${scope}`, "").trim(),
  ]);
  const chosen: [string, string][] = [...budgets, ["PORTICO_BYPASS_PERMISSIONS", bypassed.join(",")]];
  return Object.fromEntries(chosen.filter(([, value]) => value !== ""));
}

/** Another one for the server: the person decides when it starts anew, because turns may be under way. */
export function offerRestart(isRunning: () => boolean): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration(async (change) => {
    if (!isRunning() || !FOR_THE_START.some((name) => change.affectsConfiguration(name))) return;
    const words = "Portico: Restart the server to apply this setting.";
    const chosen = await vscode.window.showInformationMessage(words, "Restart Server");
    if (chosen !== undefined) await vscode.commands.executeCommand("portico.restartServer");
  });
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("portico");
}
