// Labels of files, changes, modes and checkpoints.

import { ReviewMode } from "../../generated/portico/v1/agent_pb";
import { CheckpointMoment, FileOperation, type ProposedFile } from "../../generated/portico/v1/events_pb";
import type { PatchHunk } from "../../model/patch";

export interface OperationLabel {
  readonly icon: string;
  readonly word: string;
  readonly tone: "added" | "removed" | "changed";
}

export function operationLabel(operation: FileOperation): OperationLabel {
  switch (operation) {
    case FileOperation.CREATE:
      return { icon: "diff-added", word: "new", tone: "added" };
    case FileOperation.DELETE:
      return { icon: "diff-removed", word: "deleted", tone: "removed" };
    case FileOperation.RENAME:
      return { icon: "diff-renamed", word: "renamed", tone: "changed" };
    default:
      return { icon: "diff-modified", word: "changed", tone: "changed" };
  }
}

export interface FileBadge {
  readonly word: string;
  readonly title: string;
  readonly tone: "plain" | "warning";
}

export function fileBadges(file: ProposedFile): readonly FileBadge[] {
  const marks: FileBadge[] = [];
  if (file.conflict) {
    marks.push({ word: "conflict", title: "You changed the same lines", tone: "warning" });
  }
  if (file.denied) marks.push({ word: "protected", title: "Never applied", tone: "warning" });
  else if (file.warning !== "") marks.push({ word: "warning", title: file.warning, tone: "warning" });
  if (file.binary) marks.push({ word: "binary", title: "Not a text file", tone: "plain" });
  if (file.generated) marks.push({ word: "generated", title: "Generated or ignored", tone: "plain" });
  return marks;
}

/** A path in two parts, so that its name is seen however little room there is. */
export function pathParts(path: string): { readonly folder: string; readonly name: string } {
  const cut = path.lastIndexOf("/") + 1;
  return { folder: path.slice(0, cut), name: path.slice(cut) };
}

/** Line range of the changed lines of a hunk, without context. */
export function hunkPosition(hunk: PatchHunk): string {
  const changed = hunk.lines.filter((line) => line.sign !== "same");
  const numbers = changed.flatMap((line) => line.new ?? line.old ?? []);
  const [first, last] = [numbers[0], numbers.at(-1)];
  if (first === undefined || last === undefined) return "";
  const low = Math.min(...[first, last]);
  const high = Math.max(first, last);
  return low === high ? `Line ${low}` : `Lines ${low}–${high}`;
}

export interface ModeLabel {
  readonly mode: ReviewMode;
  readonly value: string;
  readonly name: string;
  readonly icon: string;
  readonly description: string;
}

export const MODES: readonly ModeLabel[] = [
  {
    mode: ReviewMode.DIRECT,
    value: "direct",
    name: "Direct",
    icon: "edit",
    description: "Changes go straight into your files; checkpoints let you go back",
  },
  {
    mode: ReviewMode.PROPOSAL,
    value: "proposal",
    name: "Proposal",
    icon: "git-compare",
    description: "You review every change before it reaches a file",
  },
  {
    mode: ReviewMode.BRANCH,
    value: "branch",
    name: "Branch",
    icon: "git-branch",
    description: "Works in your folder on its own branch",
  },
  {
    mode: ReviewMode.WORKTREE,
    value: "worktree",
    name: "Worktree",
    icon: "worktree",
    description: "Works in its own folder next to yours",
  },
];

export function modeLabel(mode: ReviewMode): ModeLabel {
  const [direct] = MODES;
  return MODES.find((one) => one.mode === mode) ?? (direct as ModeLabel);
}

export function momentLabel(moment: CheckpointMoment): string {
  switch (moment) {
    case CheckpointMoment.BEFORE_TURN:
      return "before a prompt";
    case CheckpointMoment.AFTER_TURN:
      return "after a prompt";
    case CheckpointMoment.BEFORE_APPLY:
      return "before a proposal was applied";
    case CheckpointMoment.BEFORE_RESTORE:
      return "before a restore";
    case CheckpointMoment.BEFORE_BRANCH:
      return "before a branch";
    default:
      return "";
  }
}
