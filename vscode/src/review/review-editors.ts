// Reviews in VS Code's own editor for changes of several files. An editor follows its proposal and closes when the
// proposal is settled.

import * as vscode from "vscode";
import type { ProposalUpdated } from "../../../web/src/generated/portico/v1/events_pb";
import { sessionTitle } from "../../../web/src/model/session-summary";
import { uriOf } from "../bridge/file-uris";
import { absolutePath } from "../session-paths";
import type { CurrentSession } from "../sessions/current-session";
import type { SessionRegistry } from "../sessions/session-registry";
import { addressOf, sidesOf, type ProposalAddress, type ProposalDocuments } from "./proposal-documents";
import { reviewTitle, shownFiles, sidesIn, titleIn } from "./review-titles";

interface OpenReview extends ProposalAddress {
  readonly paths: readonly string[];
  /** Its tab was seen: if it is not there any more, the person has closed it. */
  isSeen: boolean;
}

export class ReviewEditors implements vscode.Disposable {
  readonly #documents: ProposalDocuments;
  readonly #sessions: SessionRegistry;
  /** By the title of their tabs: nothing else tells them apart. */
  readonly #open = new Map<string, OpenReview>();
  readonly #following: vscode.Disposable;

  constructor(documents: ProposalDocuments, sessions: SessionRegistry, current: CurrentSession) {
    this.#documents = documents;
    this.#sessions = sessions;
    const { tabGroups } = vscode.window;
    this.#following = vscode.Disposable.from(
      tabGroups.onDidChangeTabs(() => this.#look()),
      tabGroups.onDidChangeTabGroups(() => this.#look()),
      vscode.window.onDidChangeActiveTextEditor(() => this.#look()),
      current.detail.listen((detail) => {
        if (detail?.summary !== undefined) void this.take(detail.summary.sessionId, detail.proposals);
      }),
    );
  }

  /** The proposal whose review is in front. */
  get front(): ProposalAddress | undefined {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    const title = tab === undefined ? undefined : this.#titleOf(tab);
    return title === undefined ? undefined : this.#open.get(title);
  }

  async show(sessionId: string, proposal: ProposalUpdated): Promise<void> {
    const { proposalId } = proposal;
    const session = this.#sessions.all.value.get(sessionId);
    const files = shownFiles(proposal);
    const resources = files.map((file) => {
      const [old, proposed] = sidesOf({ sessionId, proposalId }, file);
      const sides = sidesIn(file);
      const place = uriOf(absolutePath(session?.workspace ?? "", file.path));
      return [place, sides.old ? old : undefined, sides.proposed ? proposed : undefined];
    });
    // VS Code opens another editor each time.
    await this.#closeReview({ sessionId, proposalId });
    const name = session === undefined ? "Changes" : sessionTitle(session);
    const title = reviewTitle(name, this.#open.keys());
    const paths = files.map(({ path }) => path);
    this.#open.set(title, { sessionId, proposalId, paths, isSeen: false });
    this.#documents.renew({ sessionId, proposalId }, proposal.revision);
    await vscode.commands.executeCommand("vscode.changes", title, resources);
    this.#look();
  }

  /** The open proposals of a session, as they are now. */
  async take(sessionId: string, proposals: readonly ProposalUpdated[]): Promise<void> {
    for (const proposal of proposals)
      this.#documents.renew({ sessionId, proposalId: proposal.proposalId }, proposal.revision);
    for (const [title, review] of [...this.#open]) {
      if (review.sessionId !== sessionId) continue;
      const proposal = proposals.find((one) => one.proposalId === review.proposalId);
      const paths = proposal === undefined ? [] : shownFiles(proposal).map(({ path }) => path);
      if (proposal === undefined || paths.length === 0) await this.#close(title);
      else if (paths.join("\n") !== review.paths.join("\n")) await this.show(sessionId, proposal);
    }
    await this.#closeDiffs(sessionId, proposals);
  }

  dispose(): void {
    this.#following.dispose();
  }

  async #closeReview({ sessionId, proposalId }: ProposalAddress): Promise<void> {
    for (const [title, review] of [...this.#open])
      if (review.sessionId === sessionId && review.proposalId === proposalId) await this.#close(title);
  }

  async #close(title: string): Promise<void> {
    const tabs = allTabs().filter((tab) => this.#titleOf(tab) === title);
    this.#open.delete(title);
    await vscode.window.tabGroups.close(tabs);
  }

  /** Extensions cannot see the content of such a tab. */
  #titleOf({ label }: vscode.Tab): string | undefined {
    return titleIn(label, this.#open.keys());
  }

  /** Editors of single files that the proposal does not have any more. */
  async #closeDiffs(sessionId: string, proposals: readonly ProposalUpdated[]): Promise<void> {
    const isGone = ({ input }: vscode.Tab): boolean => {
      const address = input instanceof vscode.TabInputTextDiff ? addressOf(input.modified) : undefined;
      if (address?.sessionId !== sessionId) return false;
      const proposal = proposals.find(({ proposalId }) => proposalId === address.proposalId);
      return proposal?.files.some(({ path }) => path === address.path) !== true;
    };
    await vscode.window.tabGroups.close(allTabs().filter(isGone));
  }

  /** Forgets reviews that were closed, and tells the menus what is in front. */
  #look(): void {
    const titles = new Set(allTabs().map((tab) => this.#titleOf(tab)));
    for (const [title, review] of this.#open) {
      if (titles.has(title)) review.isSeen = true;
      else if (review.isSeen) this.#open.delete(title);
    }
    const editor = vscode.window.activeTextEditor;
    const say = (key: string, value: boolean): void =>
      void vscode.commands.executeCommand("setContext", `portico.${key}`, value);
    say("reviewing", this.front !== undefined);
    say("inProposal", editor !== undefined && addressOf(editor.document.uri) !== undefined);
  }
}

function allTabs(): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
}
