// Work on a branch or in a worktree, where VS Code shows such things: the SCM view is up to date as soon as a turn has
// ended, the status bar says which branch it is where Git does not, and a worktree opens in a window of its own.

import * as vscode from "vscode";
import { ReviewMode, type GetReviewStatusResponse } from "../../../web/src/generated/portico/v1/agent_pb";
import { command, sessionFor, type Parts } from "../parts";
import { isActive } from "../sessions/news";
import { refreshRepository, repositoryOf } from "./repositories";

export class Work implements vscode.Disposable {
  readonly #parts: Parts;
  readonly #item = vscode.window.createStatusBarItem("portico.work", vscode.StatusBarAlignment.Left, 9_000);
  readonly #watching: vscode.Disposable;
  #asked = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#item.name = "Portico's branch";
    const { live, current, folders } = parts;
    const stops = [
      live.sessions.listen((now, before) => {
        const rested = [...now.values()].filter(
          (session) =>
            session !== before.get(session.sessionId) && !isActive(session.state) && folders.isHere(session),
        );
        for (const folder of new Set(rested.map(({ workspace }) => workspace)))
          void refreshRepository(folder);
      }),
      current.detail.listen(() => void this.#look()),
    ];
    this.#watching = vscode.Disposable.from(
      this.#item,
      ...stops.map((stop) => new vscode.Disposable(stop)),
      command("openWorktree", parts, async (given) => {
        const sessionId = await sessionFor(parts, given);
        if (sessionId !== undefined) await this.#open(sessionId);
      }),
    );
  }

  dispose(): void {
    this.#watching.dispose();
  }

  async #look(): Promise<void> {
    const asked = ++this.#asked;
    const summary = this.#parts.current.detail.value?.summary;
    const isApart = summary?.mode === ReviewMode.BRANCH || summary?.mode === ReviewMode.WORKTREE;
    const status = isApart && this.#parts.link.isUp ? await this.#status(summary.sessionId) : undefined;
    if (asked === this.#asked) this.#show(status, summary?.workspace ?? "");
  }

  /** None if the session is gone, or the server. */
  async #status(sessionId: string): Promise<GetReviewStatusResponse | undefined> {
    try {
      return await this.#parts.link.call((client) => client.getReviewStatus({ sessionId }));
    } catch {
      return undefined;
    }
  }

  /** Git itself shows the branch of the person's own tree, where VS Code has Git. */
  #show(status: GetReviewStatusResponse | undefined, workspace: string): void {
    const isTree = status?.mode === ReviewMode.WORKTREE && status.folder !== "";
    void vscode.commands.executeCommand("setContext", "portico.hasWorktree", isTree);
    const isBranch = status !== undefined && status.branch !== "" && repositoryOf(workspace) === undefined;
    if (!isTree && !isBranch) {
      this.#item.hide();
      return;
    }
    const { branch, homeBranch, folder } = status;
    this.#item.text = isTree ? "$(repo-clone) Worktree" : `$(git-branch) ${branch}`;
    this.#item.tooltip = isTree
      ? `The agent works in ${folder}.\nOpen it in a window of its own.`
      : `The agent works on this branch, in your tree. Yours is ${homeBranch}.`;
    this.#item.command = isTree ? "portico.openWorktree" : "portico.openChat";
    this.#item.show();
  }

  async #open(sessionId: string): Promise<void> {
    const status = await this.#status(sessionId);
    if (status === undefined || status.mode !== ReviewMode.WORKTREE || status.folder === "") {
      void vscode.window.showInformationMessage("Portico: this session has no worktree of its own yet.");
      return;
    }
    const options = { forceNewWindow: true };
    await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(status.folder), options);
  }
}
