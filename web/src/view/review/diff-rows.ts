// Rows of a diff list with estimated heights.

import type { FileConflict, FileContents } from "../../generated/portico/v1/agent_pb";
import type { ProposedFile } from "../../generated/portico/v1/events_pb";
import { splitLines, type Patch, type PatchHunk, type PatchLine } from "../../model/patch";
import type { RowPlace } from "../timeline/row-layout";
import { LONGEST_SHOWN } from "./line-segments";
import { fileNotes, type FileNote } from "./file-notes";
import { pairsOf, type LinePair } from "./line-pairs";

export type DiffRow = RowPlace &
  (
    | { readonly type: "hunk"; readonly hunk: PatchHunk; readonly number: number }
    | {
        readonly type: "line";
        readonly hunk: PatchHunk;
        readonly line: PatchLine;
        readonly mate: PatchLine | undefined;
      }
    | { readonly type: "pair"; readonly hunk: PatchHunk; readonly pair: LinePair }
    | {
        readonly type: "around";
        readonly source: readonly string[];
        readonly old: number;
        readonly new: number;
      }
    | { readonly type: "gap"; readonly gap: HiddenLines }
    | { readonly type: "note"; readonly note: FileNote }
    | { readonly type: "conflict"; readonly conflict: FileConflict; readonly number: number }
    | { readonly type: "wait" }
  );

/** The beginning of the key of a hunk's head. */
export function hunkKey(path: string, hunkId: string): string {
  return `hunk ${path} ${hunkId} `;
}

/** Lines between two hunks that are not shown. */
export interface HiddenLines {
  readonly number: number;
  /** Undefined where the end of the file is not known. */
  readonly lines: number | undefined;
  readonly hasAbove: boolean;
  readonly hasBelow: boolean;
}

/** Number of revealed lines of a gap, from its upper and its lower end. */
export interface RevealedLines {
  readonly above: number;
  readonly below: number;
}

export interface FileSection extends RowPlace {
  readonly file: ProposedFile;
  readonly patch: Patch;
  readonly isOpen: boolean;
  readonly rows: readonly DiffRow[];
}

/** Options that decide how a file is shown. */
export interface SectionShape {
  readonly file: ProposedFile;
  readonly patch: Patch;
  readonly contents: FileContents | undefined;
  readonly isOpen: boolean;
  readonly revealed: readonly (RevealedLines | undefined)[];
  readonly canReveal: boolean;
  readonly split: boolean;
  /** Characters that a line has room for. */
  readonly columns: number;
}

export const LINE_HEIGHT = 18;
const HEAD = 33;
const HUNK = 28;
const NOTE = 27;
const AROUND = 3;

export function buildSection(shape: SectionShape): FileSection {
  const { file, patch, isOpen } = shape;
  const rows = isOpen ? [...rowsOf(shape)] : [];
  return { key: `file ${file.path}`, guess: HEAD, file, patch, isOpen, rows };
}

function* rowsOf(shape: SectionShape): Generator<DiffRow> {
  const { file, patch, contents } = shape;
  const place = file.path;
  for (const [index, note] of fileNotes(file, patch).entries()) {
    yield { type: "note", key: `note ${place} ${index}`, guess: NOTE, note };
  }
  for (const [number, conflict] of (contents?.conflicts ?? []).entries()) {
    const height = 2 + Math.max(heightOf(conflict.person), heightOf(conflict.agent));
    yield {
      type: "conflict",
      key: `conflict ${place} ${number}`,
      guess: height * LINE_HEIGHT,
      conflict,
      number,
    };
  }
  const waits = contents === undefined && shape.canReveal && (file.shortened || file.conflict);
  if (waits) yield { type: "wait", key: `wait ${place}`, guess: NOTE };
  if (patch.hunks.length === 0) return;
  const around = contents?.newText === undefined ? undefined : splitLines(contents.newText);
  for (const [number, hunk] of patch.hunks.entries()) {
    yield* gapRows(shape, number, around);
    yield { type: "hunk", key: `${hunkKey(place, hunk.id)}${number}`, guess: HUNK, hunk, number };
    yield* shape.split ? splitRows(shape, hunk, number) : unifiedRows(shape, hunk, number);
  }
  yield* gapRows(shape, patch.hunks.length, around);
}

/** Whether two rows show a line that is the same, beside another or not. */
export function showsLineOf(one: DiffRow | FileSection, other: DiffRow | FileSection): boolean {
  const lines = linesIn(other);
  return linesIn(one).some((line) => lines.includes(line));
}

function linesIn(row: DiffRow | FileSection): readonly PatchLine[] {
  if (!("type" in row)) return [];
  if (row.type === "line") return [row.line];
  if (row.type === "pair") return [row.pair.old, row.pair.new].filter((line) => line !== undefined);
  return [];
}

function heightOf(text: string | undefined): number {
  return text === undefined ? 1 : splitLines(text).length;
}

function* unifiedRows({ file, columns }: SectionShape, hunk: PatchHunk, number: number): Generator<DiffRow> {
  const mates = new Map<PatchLine, PatchLine>();
  for (const pair of pairsOf(hunk.lines)) {
    if (pair.old === undefined || pair.new === undefined || pair.old === pair.new) continue;
    mates.set(pair.old, pair.new);
    mates.set(pair.new, pair.old);
  }
  for (const [index, line] of hunk.lines.entries()) {
    const key = `line ${file.path} ${number} ${index}`;
    yield { type: "line", key, guess: guess(line.text, columns), hunk, line, mate: mates.get(line) };
  }
}

function* splitRows({ file, columns }: SectionShape, hunk: PatchHunk, number: number): Generator<DiffRow> {
  for (const [index, pair] of pairsOf(hunk.lines).entries()) {
    const height = Math.max(guess(pair.old?.text ?? "", columns), guess(pair.new?.text ?? "", columns));
    yield { type: "pair", key: `pair ${file.path} ${number} ${index}`, guess: height, hunk, pair };
  }
}

/** Rows between two hunks: expanded lines, and a button for more. */
function* gapRows(
  { file, patch, revealed, canReveal, columns }: SectionShape,
  number: number,
  around: readonly string[] | undefined,
): Generator<DiffRow> {
  const before = patch.hunks[number - 1];
  const after = patch.hunks[number];
  const from = before === undefined ? { old: 1, new: 1 } : endOf(before);
  const end =
    after === undefined ? (around === undefined ? undefined : around.length + 1) : startOf(after).new;
  const lines = end === undefined ? undefined : end - from.new;
  if (lines === 0 || (lines === undefined && (!canReveal || file.shortened || isLast(before)))) return;
  const { above, below } = revealed[number] ?? { above: 0, below: 0 };
  const shift = from.old - from.new;
  const top = around === undefined ? 0 : Math.min(above, lines ?? 0);
  const bottom = around === undefined ? 0 : Math.min(below, (lines ?? 0) - top);
  function* shown(first: number, last: number): Generator<DiffRow> {
    for (let line = first; line < last && around !== undefined; line += 1) {
      const key = `around ${file.path} ${line}`;
      const height = guess(around[line - 1] ?? "", columns);
      yield { type: "around", key, guess: height, source: around, old: line + shift, new: line };
    }
  }
  yield* shown(from.new, from.new + top);
  const left = lines === undefined ? undefined : lines - top - bottom;
  if (left !== 0) {
    const gap = { number, lines: left, hasAbove: before !== undefined, hasBelow: after !== undefined };
    yield { type: "gap", key: `gap ${file.path} ${number}`, guess: 24, gap };
  }
  if (end !== undefined) yield* shown(end - bottom, end);
}

/** Whether no more of the file can follow: a hunk has as much around it as there is, up to three lines. */
function isLast(hunk: PatchHunk | undefined): boolean {
  if (hunk === undefined || hunk.newLines === 0 || hunk.oldLines === 0) return true;
  return hunk.lines.slice(-AROUND).some((line) => line.sign !== "same");
}

/** The line behind a hunk, on both sides. */
function endOf(hunk: PatchHunk): { readonly old: number; readonly new: number } {
  const { old, new: fresh } = startOf(hunk);
  return { old: old + hunk.oldLines, new: fresh + hunk.newLines };
}

function startOf({ oldStart, oldLines, newStart, newLines }: PatchHunk) {
  return { old: oldStart + (oldLines === 0 ? 1 : 0), new: newStart + (newLines === 0 ? 1 : 0) };
}

function guess(text: string, columns: number): number {
  return LINE_HEIGHT * Math.max(1, Math.ceil(Math.min(text.length, LONGEST_SHOWN) / Math.max(8, columns)));
}
