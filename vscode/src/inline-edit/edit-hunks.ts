// Changes of an inline edit at the lines of the file. Lines count from zero, as VS Code counts them.

import type { FileContents } from "../../../web/src/generated/portico/v1/agent_pb";
import { parsePatch, type PatchHunk } from "../../../web/src/model/patch";

export interface EditHunk {
  readonly hunkId: string;
  /** The first line that is replaced, or the line in front of which lines are inserted. */
  readonly start: number;
  /** Behind the last line that is replaced; the same as `start` if none is. */
  readonly end: number;
  /** The lines that take their place. */
  readonly lines: readonly string[];
}

/** A change of the text while an edit is shown: lines `start` to `end` became `lines` lines. */
export interface LineChange {
  readonly start: number;
  readonly end: number;
  readonly lines: number;
}

export function editHunks({ diff, hunks }: Pick<FileContents, "diff" | "hunks">): readonly EditHunk[] {
  return parsePatch(diff, hunks).hunks.flatMap((hunk) => editHunk(hunk) ?? []);
}

/** From the first changed line to the last one, with those between them. */
function editHunk({ id, lines }: PatchHunk): EditHunk | undefined {
  const first = lines.findIndex(({ sign }) => sign !== "same");
  const last = lines.findLastIndex(({ sign }) => sign !== "same");
  if (first < 0) return undefined;
  const changed = lines.slice(first, last + 1);
  const old = changed.flatMap((line) => line.old ?? []);
  const before = lines.slice(0, first).findLast((line) => line.old !== undefined)?.old ?? 0;
  const start = old[0] === undefined ? before : old[0] - 1;
  const fresh = changed.filter(({ sign }) => sign !== "removed").map(({ text }) => text);
  return { hunkId: id, start, end: old.at(-1) ?? start, lines: fresh };
}

/** Short description of a change. */
export function hunkLabel({ start, end, lines }: EditHunk): string {
  const place = end - start === 1 ? `line ${end}` : `lines ${start + 1}–${end}`;
  if (end === start) return start === 0 ? "Insert at the beginning" : `Insert after line ${start}`;
  return lines.length === 0 ? `Remove ${place}` : `Replace ${place}`;
}

/** The hunk at a line, or the next one, or the first. */
export function hunkNear(hunks: readonly EditHunk[], line: number): EditHunk | undefined {
  return hunks.find(({ start, end }) => line < Math.max(end, start + 1)) ?? hunks[0];
}

/** Hunks behind a change move with it; those in it stay. */
export function shiftHunks(hunks: readonly EditHunk[], change: LineChange): readonly EditHunk[] {
  const by = change.lines - (change.end - change.start);
  if (by === 0) return hunks;
  return hunks.map((hunk) =>
    hunk.start >= change.end ? { ...hunk, start: hunk.start + by, end: hunk.end + by } : hunk,
  );
}
