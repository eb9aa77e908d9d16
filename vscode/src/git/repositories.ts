// VS Code's Git extension, as much of it as is used here. Without it, or with Git off, there are no repositories.

import * as vscode from "vscode";

interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): { getRepository(uri: vscode.Uri): Repository | null };
}

interface Repository {
  /** Looks at the files again, and has the SCM view show what it finds. */
  status(): Promise<void>;
}

export async function refreshRepository(folder: string): Promise<void> {
  try {
    await repositoryOf(folder)?.status();
  } catch {
    // A repository that is gone, or busy with something else: it looks for itself then.
  }
}

/** It starts with its own views: until then nobody sees what it knows. */
export function repositoryOf(folder: string): Repository | undefined {
  const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
  if (extension?.isActive !== true || !extension.exports.enabled) return undefined;
  return extension.exports.getAPI(1).getRepository(vscode.Uri.file(folder)) ?? undefined;
}
