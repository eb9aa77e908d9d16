// Tree view of the proposals and checkpoints of the current session.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import * as vscode from "vscode";
import type { Checkpoint } from "../../../web/src/generated/portico/v1/agent_pb";
import {
  ProposalOrigin,
  type ProposalUpdated,
  type ProposedFile,
} from "../../../web/src/generated/portico/v1/events_pb";
import { operationLabel, pathParts } from "../../../web/src/view/review/review-labels";
import { reviewText } from "../../../web/src/model/session-summary";
import type { Services } from "../services";
import { countBadge } from "./session-overview";

const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;

export function showChanges({ current, connection }: Services): vscode.Disposable {
  const changed = new vscode.EventEmitter<undefined>();
  const checkpointsOf = async (sessionId: string): Promise<CheckpointNode[]> => {
    try {
      const { checkpoints } = await connection.call((client) => client.listCheckpoints({ sessionId }));
      return checkpoints.map((checkpoint) => new CheckpointNode(sessionId, checkpoint));
    } catch {
      return [];
    }
  };
  const roots = async (): Promise<vscode.TreeItem[]> => {
    const { summary, proposals = [] } = current.detail.value ?? {};
    if (summary === undefined) return [];
    const { sessionId } = summary;
    const nodes = proposals.map((proposal) => new ProposalNode(sessionId, proposal));
    const kept = await checkpointsOf(sessionId);
    return kept.length === 0 ? nodes : [...nodes, new CheckpointsNode(sessionId, kept.length, kept[0]?.id)];
  };
  let shown: vscode.TreeItem[] = [];
  let drawn = "";
  let looks = 0;
  /** Made before it is drawn, and drawn only if it is another list: while VS Code draws, it knows no entry. */
  const look = async (): Promise<void> => {
    const mine = ++looks;
    const found = await roots();
    if (mine !== looks || JSON.stringify(found) === drawn) return;
    shown = found;
    drawn = JSON.stringify(found);
    changed.fire(undefined);
  };
  const treeDataProvider: vscode.TreeDataProvider<vscode.TreeItem> = {
    onDidChangeTreeData: changed.event,
    getTreeItem: (node) => node,
    getChildren: (node) => {
      if (node instanceof ProposalNode) return node.files;
      return node instanceof CheckpointsNode ? checkpointsOf(node.sessionId) : shown;
    },
  };
  void look();
  const view = vscode.window.createTreeView("portico.changes", { treeDataProvider });
  return vscode.Disposable.from(
    changed,
    view,
    current.detail.listen((detail) => {
      const files = detail?.summary?.toReview ?? 0;
      view.badge = countBadge(files, "file to review", "files to review");
      view.description = reviewText({ toReview: files });
      void look();
    }),
  );
}

export class ProposalNode extends vscode.TreeItem {
  override readonly contextValue = "proposal";
  override readonly iconPath = new vscode.ThemeIcon("git-compare");

  constructor(
    readonly sessionId: string,
    readonly proposal: ProposalUpdated,
  ) {
    const isRestored = proposal.origin === ProposalOrigin.RESTORED;
    super(isRestored ? "Your changes, set aside" : "Proposal", Expanded);
    const count = proposal.files.length + proposal.unlisted;
    this.id = `${sessionId} ${proposal.proposalId}`;
    this.description = count === 1 ? "1 file" : `${count} files`;
  }

  get files(): FileNode[] {
    return this.proposal.files.map((file) => new FileNode(this.sessionId, this.proposal, file));
  }
}

export class FileNode extends vscode.TreeItem {
  constructor(
    readonly sessionId: string,
    readonly proposal: ProposalUpdated,
    readonly file: ProposedFile,
  ) {
    const { folder, name } = pathParts(file.path);
    super(name);
    const counts = `+${file.added} −${file.removed}`;
    const note = file.conflict ? "conflict" : file.denied ? "protected" : counts;
    this.id = `${sessionId} ${proposal.proposalId} ${file.path}`;
    this.description = [folder, note].filter((part) => part !== "").join("  ");
    this.tooltip = `${file.path}\n${counts}${file.warning === "" ? "" : `\n${file.warning}`}`;
    this.iconPath = new vscode.ThemeIcon(file.conflict ? "warning" : operationLabel(file.operation).icon);
    this.contextValue = file.denied ? "deniedFile" : "proposedFile";
    this.command = { command: "portico.openProposedFile", title: "Show Change", arguments: [this] };
  }
}

/** The checkpoints under one roof: they are many, and seldom looked at. */
class CheckpointsNode extends vscode.TreeItem {
  override readonly iconPath = new vscode.ThemeIcon("history");

  /** Number of checkpoints and the newest one: the list has changed if these have. */
  constructor(
    readonly sessionId: string,
    readonly count: number,
    readonly newest: string | undefined,
  ) {
    super("Checkpoints", Collapsed);
    this.id = `checkpoints ${sessionId}`;
  }
}

export class CheckpointNode extends vscode.TreeItem {
  override readonly contextValue = "checkpoint";
  override readonly iconPath = new vscode.ThemeIcon("git-commit");

  constructor(
    readonly sessionId: string,
    readonly checkpoint: Checkpoint,
  ) {
    super(checkpoint.label === "" ? "Checkpoint" : checkpoint.label);
    this.id = checkpoint.checkpointId;
    this.description = checkpoint.at === undefined ? "" : timestampDate(checkpoint.at).toLocaleString();
  }
}
