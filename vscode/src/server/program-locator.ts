// Collects where the portico program may be: settings, Python extension, managed environment.

import { homedir } from "node:os";
import * as vscode from "vscode";
import { findProgram, type FoundProgram } from "./program-search";
import { managedProgram } from "./managed-environment";
import { UntrustedWorkspace } from "./start-failure";

/** The part of the Python extension's API that is used here. */
interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: {
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
  };
}

export async function locateProgram(ownFolder: string): Promise<FoundProgram> {
  if (!vscode.workspace.isTrusted) {
    throw new UntrustedWorkspace("Portico does not run in untrusted folders.");
  }
  const named = vscode.workspace.getConfiguration("portico").inspect<string>("program");
  return await findProgram({
    workspace: named?.workspaceFolderValue ?? named?.workspaceValue ?? "",
    user: named?.globalValue ?? "",
    interpreter: await activeInterpreter(),
    path: process.env["PATH"] ?? "",
    own: managedProgram(ownFolder, process.platform),
    home: homedir(),
    platform: process.platform,
  });
}

/** The Python that the Python extension would run; empty without that extension. */
export async function activeInterpreter(): Promise<string> {
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  if (extension === undefined) return "";
  try {
    const { environments } = await extension.activate();
    const active = environments?.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri);
    const found = active && (await environments?.resolveEnvironment(active));
    return found?.executable.uri?.fsPath ?? "";
  } catch {
    return "";
  }
}
