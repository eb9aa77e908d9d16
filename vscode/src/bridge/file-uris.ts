// Conversion between the server's real paths and VS Code URIs.

import { realpathSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import * as vscode from "vscode";

/** Schemes of files. On a remote machine they usually have the first, sometimes the second. */
const SCHEMES = new Set(["file", "vscode-remote"]);

/** Undefined for a text that is no file. */
export function pathOf(uri: vscode.Uri): string | undefined {
  return SCHEMES.has(uri.scheme) ? resolved(uri.fsPath) : undefined;
}

export function findOpenDocument(path: string): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find(({ uri, isClosed }) => !isClosed && pathOf(uri) === path);
}

/** Path as the window names it: inside its own folder, which may be a link. */
export function uriOf(path: string): vscode.Uri {
  const known = findOpenDocument(path);
  if (known !== undefined) return known.uri;
  for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
    const folder = pathOf(uri);
    if (folder !== undefined && path.startsWith(folder + sep))
      return vscode.Uri.joinPath(uri, relative(folder, path));
  }
  return vscode.Uri.file(path);
}

/** The file on disk, decoded as VS Code would; undefined if it is missing or not text. */
export async function readText(uri: vscode.Uri): Promise<string | undefined> {
  try {
    return await vscode.workspace.decode(await vscode.workspace.fs.readFile(uri), { uri });
  } catch {
    return undefined;
  }
}

/** A file that is not there yet, or no longer, is named by its folder. */
function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(resolved(folder), basename(path));
  }
}
