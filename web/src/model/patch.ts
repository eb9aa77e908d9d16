// Parses the patch of one file into hunks and lines, as git writes it.

import type { ProposedHunk } from "../generated/portico/v1/events_pb";

export type LineSign = "same" | "added" | "removed";

export interface PatchLine {
  readonly sign: LineSign;
  /** In the file before and after, from one; absent where the line is not. */
  readonly old: number | undefined;
  readonly new: number | undefined;
  readonly text: string;
  /** It is the last of its file, and no line break follows. */
  readonly unended: boolean;
}

export interface PatchHunk {
  /** Empty if it cannot be chosen by itself. */
  readonly id: string;
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  /** Enclosing function or class, as the patch names it. */
  readonly heading: string;
  readonly lines: readonly PatchLine[];
}

export interface Patch {
  readonly hunks: readonly PatchHunk[];
  /** Modes before and after, where they differ. */
  readonly mode: { readonly old: string; readonly new: string } | undefined;
}

const HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;
const SIGNS: Readonly<Record<string, LineSign>> = { " ": "same", "+": "added", "-": "removed" };

/** The hunks of a patch, with the ids that the server has given to them in their order. */
export function parsePatch(diff: string, known: readonly ProposedHunk[]): Patch {
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const hunks: PatchHunk[] = [];
  const modes: { old?: string; new?: string } = {};
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    at += 1;
    const header = HEADER.exec(line);
    if (header !== null) {
      const hunk = parseHunk(header, lines, at);
      hunks.push(hunk.hunk);
      at = hunk.end;
    } else if (line.startsWith("old mode ")) {
      modes.old = line.slice(9);
    } else if (line.startsWith("new mode ")) {
      modes.new = line.slice(9);
    }
  }
  const { old: oldMode, new: newMode } = modes;
  const mode = oldMode === undefined || newMode === undefined ? undefined : { old: oldMode, new: newMode };
  return { hunks: named(hunks, known), mode };
}

function parseHunk(
  header: RegExpExecArray,
  lines: readonly string[],
  from: number,
): { hunk: PatchHunk; end: number } {
  const [oldStart, oldLines, newStart, newLines] = [1, 2, 3, 4].map((group) => Number(header[group] ?? 1));
  const read: PatchLine[] = [];
  // A side without lines is said to stand behind the line before it.
  let old = (oldStart ?? 0) + (oldLines === 0 ? 1 : 0);
  let fresh = (newStart ?? 0) + (newLines === 0 ? 1 : 0);
  let at = from;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const sign = SIGNS[line[0] ?? " "];
    const last = read.at(-1);
    if (line.startsWith("\\")) {
      if (last !== undefined) read[read.length - 1] = { ...last, unended: true };
      continue;
    }
    if (sign === undefined) break;
    read.push({
      sign,
      old: sign === "added" ? undefined : old,
      new: sign === "removed" ? undefined : fresh,
      text: line.slice(1),
      unended: false,
    });
    if (sign !== "added") old += 1;
    if (sign !== "removed") fresh += 1;
  }
  const hunk: PatchHunk = {
    id: "",
    oldStart: oldStart ?? 0,
    oldLines: oldLines ?? 0,
    newStart: newStart ?? 0,
    newLines: newLines ?? 0,
    heading: header[5] ?? "",
    lines: read,
  };
  return { hunk, end: at };
}

/** A patch that does not have the hunks the server speaks of can only be chosen as a whole. */
function named(hunks: readonly PatchHunk[], known: readonly ProposedHunk[]): readonly PatchHunk[] {
  const fits =
    hunks.length === known.length &&
    hunks.every(
      (hunk, index) => hunk.oldStart === known[index]?.oldStart && hunk.newStart === known[index].newStart,
    );
  return fits ? hunks.map((hunk, index) => ({ ...hunk, id: known[index]?.hunkId ?? "" })) : hunks;
}

/** The lines of a text without their ends; none for an empty one. */
export function splitLines(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
