// Actions that the page requests of the editor: open a link, open a file, save a file.

import * as vscode from "vscode";
import { uriOf } from "../bridge/file-uris";
import { absolutePath } from "../session-paths";

const LINKS = new Set(["http", "https", "mailto"]);

export async function openLink(url: unknown): Promise<void> {
  if (typeof url !== "string") return;
  const uri = vscode.Uri.parse(url);
  if (LINKS.has(uri.scheme)) await vscode.env.openExternal(uri);
}

/** Lines count from one. A path that is not whole is one of the folder. */
export async function openFile(path: unknown, line: unknown, folder: string): Promise<void> {
  if (typeof path !== "string") return;
  const options: vscode.TextDocumentShowOptions = { preview: true };
  if (typeof line === "number" && line >= 1) {
    const place = new vscode.Position(line - 1, 0);
    options.selection = new vscode.Range(place, place);
  }
  try {
    await vscode.window.showTextDocument(uriOf(absolutePath(folder, path)), options);
  } catch {
    void vscode.window.showWarningMessage(`Cannot open ${path}.`);
  }
}

export async function saveFile(fileName: unknown, content: unknown, folder: string): Promise<void> {
  if (typeof fileName !== "string" || typeof content !== "string") return;
  const defaultUri = uriOf(absolutePath(folder, fileName));
  const target = await vscode.window.showSaveDialog({ title: "Save As", defaultUri });
  if (target !== undefined) await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(content));
}
