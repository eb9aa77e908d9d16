// VS Code settings of this window, sent with each call, so that they hold here and in no other window.

import * as vscode from "vscode";

/** A folder may choose those of the project. */
const PROJECT = ["agent", "promptDirectories", "sessionVariables"];
const USER = [...PROJECT, "model", "reviewMode", "maxCostUsd", "components", "sandbox"];

type Level = "user" | "workspace";

/** As the value of a header, which has ASCII only. */
export function windowSettings(): string {
  const chosen = { user: choices(USER, "user"), workspace: choices(PROJECT, "workspace") };
  return JSON.stringify(chosen).replaceAll(/[\u0080-\uffff]/g, escape);
}

function choices(names: readonly string[], level: Level): Record<string, unknown> {
  const found = names.map((name) => [name, chosen(name, level)] as const);
  return Object.fromEntries(found.filter(([, value]) => !isEmpty(value)));
}

function chosen(setting: string, level: Level): unknown {
  const found = vscode.workspace.getConfiguration("portico").inspect(setting);
  if (level === "user") return found?.globalValue;
  if (!vscode.workspace.isTrusted) return undefined;
  return found?.workspaceFolderValue ?? found?.workspaceValue;
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)
  );
}

function escape(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
