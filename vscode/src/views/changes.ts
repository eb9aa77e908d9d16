// What the agent proposes and how the folder was before: the proposals and checkpoints of the person's session.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import * as vscode from "vscode";
import { FileOperation, ProposalOrigin } from "../../../web/src/generated/portico/v1/events_pb";
import type { Parts } from "../parts";
import { CheckpointNode, CheckpointsNode, FileNode, ProposalNode, type ChangeNode } from "./change-nodes";
import { baseName, folderName } from "./paths";

const ICONS: Readonly<Partial<Record<FileOperation, string>>> = {
  [FileOperation.CREATE]: "diff-added",
  [FileOperation.DELETE]: "diff-removed",
  [FileOperation.RENAME]: "diff-renamed",
};

export class Changes implements vscode.TreeDataProvider<ChangeNode> {
  readonly #parts: Parts;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  show(): vscode.Disposable {
    const view = vscode.window.createTreeView("portico.changes", { treeDataProvider: this });
    const stop = this.#parts.current.detail.listen(() => this.#changed.fire(undefined));
    return vscode.Disposable.from(view, this.#changed, new vscode.Disposable(stop));
  }

  async getChildren(node?: ChangeNode): Promise<ChangeNode[]> {
    if (node instanceof ProposalNode)
      return node.proposal.files.map((file) => new FileNode(node.sessionId, node.proposal, file));
    if (node instanceof CheckpointsNode) return await this.#checkpoints(node.sessionId);
    const detail = this.#parts.current.detail.value;
    if (node !== undefined || detail?.summary === undefined) return [];
    const { sessionId } = detail.summary;
    const proposals = detail.proposals.map((proposal) => new ProposalNode(sessionId, proposal));
    const isKept = (await this.#checkpoints(sessionId)).length > 0;
    return isKept ? [...proposals, new CheckpointsNode(sessionId)] : proposals;
  }

  getTreeItem(node: ChangeNode): vscode.TreeItem {
    if (node instanceof ProposalNode) return proposalItem(node);
    if (node instanceof FileNode) return fileItem(node);
    if (node instanceof CheckpointNode) return checkpointItem(node);
    const item = new vscode.TreeItem("Checkpoints", vscode.TreeItemCollapsibleState.Collapsed);
    item.id = `checkpoints ${node.sessionId}`;
    item.iconPath = new vscode.ThemeIcon("history");
    return item;
  }

  async #checkpoints(sessionId: string): Promise<CheckpointNode[]> {
    try {
      const { checkpoints } = await this.#parts.link.call((client) => client.listCheckpoints({ sessionId }));
      return checkpoints.map((checkpoint) => new CheckpointNode(sessionId, checkpoint));
    } catch {
      return [];
    }
  }
}

function proposalItem({ proposal, sessionId }: ProposalNode): vscode.TreeItem {
  const isRestored = proposal.origin === ProposalOrigin.RESTORED;
  const item = new vscode.TreeItem(
    isRestored ? "Your changes, put aside" : "Proposal",
    vscode.TreeItemCollapsibleState.Expanded,
  );
  const count = proposal.files.length + proposal.unlisted;
  item.id = `${sessionId} ${proposal.proposalId}`;
  item.description = count === 1 ? "1 file" : `${count} files`;
  item.iconPath = new vscode.ThemeIcon("git-compare");
  item.contextValue = "proposal";
  return item;
}

function fileItem(node: FileNode): vscode.TreeItem {
  const { file, proposal, sessionId } = node;
  const item = new vscode.TreeItem(baseName(file.path));
  const counts = `+${file.added} −${file.removed}`;
  const note = file.conflict ? "conflict" : file.denied ? "cannot be applied" : counts;
  item.id = `${sessionId} ${proposal.proposalId} ${file.path}`;
  item.description = [folderName(file.path), note].filter((part) => part !== "").join("  ");
  item.tooltip = `${file.path}\n${counts}${file.warning === "" ? "" : `\n${file.warning}`}`;
  const icon = file.conflict ? "warning" : (ICONS[file.operation] ?? "diff-modified");
  item.iconPath = new vscode.ThemeIcon(icon);
  item.contextValue = file.denied ? "deniedFile" : "proposedFile";
  item.command = { command: "portico.openProposedFile", title: "Show the Change", arguments: [node] };
  return item;
}

function checkpointItem({ checkpoint }: CheckpointNode): vscode.TreeItem {
  const item = new vscode.TreeItem(checkpoint.label === "" ? "Checkpoint" : checkpoint.label);
  item.id = checkpoint.checkpointId;
  item.description = checkpoint.at === undefined ? "" : timestampDate(checkpoint.at).toLocaleString();
  item.iconPath = new vscode.ThemeIcon("git-commit");
  item.contextValue = "checkpoint";
  return item;
}
