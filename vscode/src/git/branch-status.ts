// Branch and worktree of the current session in VS Code: refreshes the SCM view after a turn, names the branch in the
// status bar where Git does not, and opens worktrees in a new window.

import * as vscode from "vscode";
import {
  ReviewMode,
  type GetReviewStatusResponse,
  type SessionDetail,
} from "../../../web/src/generated/portico/v1/agent_pb";
import { isActive } from "../../../web/src/view/shell/turn-state";
import { registerSessionCommand } from "../commands/registration";
import type { Services } from "../services";

export function showBranchStatus(services: Services): vscode.Disposable {
  const { sessions, current, folders } = services;
  const item = vscode.window.createStatusBarItem("portico.work", vscode.StatusBarAlignment.Left, 9_000);
  item.name = "Portico branch";
  const look = async (detail: SessionDetail | undefined): Promise<void> => {
    const { mode, sessionId = "", workspace = "" } = detail?.summary ?? {};
    const isApart = mode === ReviewMode.BRANCH || mode === ReviewMode.WORKTREE;
    const status = isApart && services.connection.isRunning ? await statusOf(services, sessionId) : undefined;
    if (detail === current.detail.value) updateItem(item, status, workspace);
  };
  return vscode.Disposable.from(
    item,
    sessions.all.listen((now, before) => {
      const rested = [...now.values()].filter(
        (session) =>
          session !== before.get(session.sessionId) && !isActive(session.state) && folders.contains(session),
      );
      for (const folder of new Set(rested.map(({ workspace }) => workspace))) void refreshRepository(folder);
    }),
    current.detail.listen((detail) => void look(detail)),
    registerSessionCommand("openWorktree", services, async (sessionId) =>
      openWorktree(await statusOf(services, sessionId)),
    ),
  );
}

/** None if the session is gone, or the server. */
async function statusOf(
  { connection }: Services,
  sessionId: string,
): Promise<GetReviewStatusResponse | undefined> {
  try {
    return await connection.call((client) => client.getReviewStatus({ sessionId }));
  } catch {
    return undefined;
  }
}

/** Git itself shows the branch of the person's own tree, where VS Code has Git. */
function updateItem(
  item: vscode.StatusBarItem,
  status: GetReviewStatusResponse | undefined,
  workspace: string,
): void {
  const tree = treeOf(status);
  void vscode.commands.executeCommand("setContext", "portico.hasWorktree", tree !== undefined);
  const { branch = "", homeBranch = "" } = status ?? {};
  if (tree !== undefined) {
    item.text = "$(repo-clone) Worktree";
    item.tooltip = `The agent works in ${tree}.\nClick to open it in a new window.`;
    item.command = "portico.openWorktree";
    item.show();
  } else if (branch !== "" && repositoryOf(workspace) === undefined) {
    item.text = `$(git-branch) ${branch}`;
    item.tooltip = `The agent works on this branch in your folder. Your branch is ${homeBranch}.`;
    item.command = "portico.openChat";
    item.show();
  } else item.hide();
}

async function openWorktree(status: GetReviewStatusResponse | undefined): Promise<void> {
  const tree = treeOf(status);
  if (tree === undefined) {
    void vscode.window.showInformationMessage("Portico: This session has no worktree yet.");
    return;
  }
  const options = { forceNewWindow: true };
  await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(tree), options);
}

function treeOf(status: GetReviewStatusResponse | undefined): string | undefined {
  return status?.mode === ReviewMode.WORKTREE && status.folder !== "" ? status.folder : undefined;
}

interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): { getRepository(uri: vscode.Uri): Repository | null };
}

interface Repository {
  /** Looks at the files again, and has the SCM view show what it finds. */
  status(): Promise<void>;
  /** The changes in the tree, or those that are staged. */
  diff(staged: boolean): Promise<string>;
}

export async function refreshRepository(folder: string): Promise<void> {
  try {
    await repositoryOf(folder)?.status();
  } catch {
    // A repository that is gone, or busy with something else: it looks for itself then.
  }
}

/** Undefined until the Git extension is active. */
export function repositoryOf(folder: string): Repository | undefined {
  const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
  if (extension?.isActive !== true || !extension.exports.enabled) return undefined;
  return extension.exports.getAPI(1).getRepository(vscode.Uri.file(folder)) ?? undefined;
}
