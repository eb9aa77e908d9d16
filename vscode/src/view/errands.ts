// Small wishes of the page that only the editor can grant.

import { isAbsolute } from "node:path";
import * as vscode from "vscode";

const LINKS = new Set(["http", "https", "mailto"]);

export async function openLink(url: unknown): Promise<void> {
  if (typeof url !== "string") return;
  const uri = vscode.Uri.parse(url);
  if (LINKS.has(uri.scheme)) await vscode.env.openExternal(uri);
}

/** Lines count from one. */
export async function openFile(path: unknown, line: unknown): Promise<void> {
  if (typeof path !== "string") return;
  const uri = placeOf(path);
  if (uri === undefined) return;
  const options: vscode.TextDocumentShowOptions = { preview: true };
  if (typeof line === "number" && line >= 1) {
    const place = new vscode.Position(line - 1, 0);
    options.selection = new vscode.Range(place, place);
  }
  try {
    await vscode.window.showTextDocument(uri, options);
  } catch {
    void vscode.window.showWarningMessage(`${path} cannot be shown here.`);
  }
}

function placeOf(path: string): vscode.Uri | undefined {
  if (isAbsolute(path)) return vscode.Uri.file(path);
  const folder = vscode.workspace.workspaceFolders?.[0];
  return folder && vscode.Uri.joinPath(folder.uri, path);
}

export async function save(fileName: unknown, content: unknown): Promise<void> {
  if (typeof fileName !== "string" || typeof content !== "string") return;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog({
    title: "Save As",
    ...(folder !== undefined && { defaultUri: vscode.Uri.joinPath(folder, fileName) }),
  });
  if (target !== undefined) await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(content));
}
