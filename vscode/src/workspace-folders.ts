// The folders of this window, by their real paths as the server knows them.

import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, relative, sep } from "node:path";
import * as vscode from "vscode";
import type { SessionSummary } from "../../web/src/generated/portico/v1/agent_pb";
import { relativePath } from "./session-paths";

const LAST = "folder";

export class WorkspaceFolders {
  readonly #memory: vscode.Memento;

  constructor(memory: vscode.Memento) {
    this.#memory = memory;
  }

  /** Default folder of new sessions. */
  get main(): string {
    return this.#likely[0] ?? homedir();
  }

  /** The folder that a file is in, or the default one. */
  of(file: vscode.Uri): string {
    const folder = vscode.workspace.getWorkspaceFolder(file);
    return (folder === undefined ? undefined : pathOf(folder)[0]) ?? this.main;
  }

  get all(): readonly string[] {
    return (vscode.workspace.workspaceFolders ?? []).flatMap(pathOf);
  }

  /** Whether a session belongs to this window. Without a folder, all that there are do. */
  contains({ workspace }: SessionSummary): boolean {
    const { all } = this;
    return (
      all.length === 0 || all.some((folder) => workspace === folder || workspace.startsWith(folder + sep))
    );
  }

  /** A file as a session names it. As long as that is not known, only a window with one folder knows what is meant. */
  nameOf(file: vscode.Uri, session: SessionSummary | undefined): string {
    return relativePath(session?.workspace ?? (this.all.length === 1 ? this.main : ""), serverPath(file));
  }

  /** The folder that is meant: the only one, or the one that the person picks. It comes early the next time. */
  async choose(): Promise<string | undefined> {
    if (this.all.length < 2) return this.main;
    const items = this.#likely.map((path) => ({ label: basename(path), description: path, path }));
    const options = { placeHolder: "The folder to work in", matchOnDescription: true };
    const path = (await vscode.window.showQuickPick(items, options))?.path;
    if (path !== undefined) await this.#memory.update(LAST, path);
    return path;
  }

  /** That of the file in the editor first, then the one that was picked last. */
  get #likely(): readonly string[] {
    const { all } = this;
    if (all.length < 2) return all;
    const file = vscode.window.activeTextEditor?.document.uri;
    const edited = file === undefined ? undefined : vscode.workspace.getWorkspaceFolder(file);
    const first = [...(edited === undefined ? [] : pathOf(edited)), this.#memory.get<string>(LAST, "")];
    return [...new Set([...first.filter((path) => all.includes(path)), ...all])];
  }
}

/** A file as the server names it: by its folder with links resolved, whatever links there are below. */
export function serverPath(file: vscode.Uri): string {
  const folder = vscode.workspace.getWorkspaceFolder(file);
  const [root] = folder === undefined ? [] : pathOf(folder);
  return folder === undefined || root === undefined
    ? file.fsPath
    : join(root, relative(folder.uri.fsPath, file.fsPath));
}

function pathOf({ uri }: vscode.WorkspaceFolder): string[] {
  if (uri.scheme !== "file") return [];
  try {
    return [realpathSync(uri.fsPath)];
  } catch {
    return [uri.fsPath];
  }
}
