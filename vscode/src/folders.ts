// The folders of this window, as the server names them: links resolved.

import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { sep } from "node:path";
import * as vscode from "vscode";
import type { SessionSummary } from "../../web/src/generated/portico/v1/agent_pb";

export class Folders {
  /** Where new sessions work, if nobody says otherwise. */
  get main(): string {
    return this.all[0] ?? homedir();
  }

  get all(): readonly string[] {
    return (vscode.workspace.workspaceFolders ?? [])
      .filter(({ uri }) => uri.scheme === "file")
      .map(({ uri }) => real(uri.fsPath));
  }

  /** Whether a session belongs to this window. Without a folder, all that there are do. */
  isHere({ workspace }: SessionSummary): boolean {
    const { all } = this;
    return (
      all.length === 0 || all.some((folder) => workspace === folder || workspace.startsWith(folder + sep))
    );
  }

  /** The folder that is meant: the only one, or the one that the person picks. */
  async choose(): Promise<string | undefined> {
    if (this.all.length < 2) return this.main;
    const picked = await vscode.window.showWorkspaceFolderPick({ placeHolder: "The folder to work in" });
    return picked && real(picked.uri.fsPath);
  }
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
