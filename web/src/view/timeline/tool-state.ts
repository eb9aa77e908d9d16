// State of a tool call, as its card shows it.

import { ToolKind, ToolStatus, type DiffPart } from "../../generated/portico/v1/events_pb";
import type { ToolItem } from "../../model/types";
import { fileDiff, type FileDiff } from "./diff/file-diff";

export type ToolState = "waiting" | "running" | "done" | "failed" | "left";

export function stateOf({ status, abandoned }: ToolItem): ToolState {
  if (abandoned) return "left";
  switch (status) {
    case ToolStatus.PENDING:
      return "waiting";
    case ToolStatus.COMPLETED:
      return "done";
    case ToolStatus.FAILED:
      return "failed";
    case ToolStatus.IN_PROGRESS:
    case ToolStatus.UNSPECIFIED:
      return "running";
  }
}

export function stateLabel(state: ToolState): string {
  switch (state) {
    case "waiting":
      return "waiting";
    case "running":
      return "running";
    case "done":
      return "done";
    case "failed":
      return "failed";
    case "left":
      return "not finished";
  }
}

/** So many lines of output are read at a glance. */
const GLANCE = 12;

/**
 * A command at work, one that printed little and whatever failed are worth looking at; the rest is
 * there for who asks.
 */
export function isOpenAtFirst(item: ToolItem): boolean {
  const state = stateOf(item);
  if (state === "failed") return true;
  if (item.stoppable && state === "running") return true;
  return item.kind === ToolKind.EXECUTE && (state === "running" || printsLittle(item));
}

function printsLittle({ terminals }: ToolItem): boolean {
  const texts = [...terminals.values()].map(({ text }) => text);
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  if (characters === 0 || characters > GLANCE * 200) return false;
  return texts.reduce((lines, text) => lines + text.trimEnd().split("\n").length, 0) <= GLANCE;
}

export function hasBody(item: ToolItem): boolean {
  const { content, locations, inputJson, outputJson, problems, terminals } = item;
  return (
    (item.stoppable && stateOf(item) === "running") ||
    content.length > 0 ||
    problems.length > 0 ||
    locations.length > 0 ||
    terminals.size > 0 ||
    !isEmpty(inputJson) ||
    !isEmpty(outputJson)
  );
}

export function isEmpty(json: string | undefined): boolean {
  return json === undefined || /^\s*(null|\{\s*\}|\[\s*\]|"")?\s*$/.test(json);
}

const known = new WeakMap<DiffPart, FileDiff>();

/** The lines of a change, found once. */
export function diffOf(part: DiffPart): FileDiff {
  const before = known.get(part);
  if (before !== undefined) return before;
  const diff = fileDiff(part.oldText, part.newText);
  known.set(part, diff);
  return diff;
}

/** The summary of all changes of a call; undefined if there are none. */
export function totalDiff({
  content,
}: ToolItem): { readonly added: number; readonly removed: number } | undefined {
  const diffs = content.flatMap(({ part }) => (part.case === "diff" ? [diffOf(part.value)] : []));
  if (diffs.length === 0) return undefined;
  return {
    added: diffs.reduce((sum, diff) => sum + diff.added, 0),
    removed: diffs.reduce((sum, diff) => sum + diff.removed, 0),
  };
}
