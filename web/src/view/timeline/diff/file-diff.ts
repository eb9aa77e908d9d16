// Diff of a file as hunks with context lines.

import { changesBetween, type DiffChange } from "./myers";
import { markWords, type WordSpan } from "./word-diff";

export interface DiffLine {
  readonly sign: "same" | "added" | "removed";
  readonly oldNumber: number | undefined;
  readonly newNumber: number | undefined;
  readonly spans: readonly WordSpan[];
}

export interface Hunk {
  /** Lines left out before it. */
  readonly skipped: number;
  readonly lines: readonly DiffLine[];
}

export interface FileDiff {
  readonly isNew: boolean;
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly Hunk[];
  /** Lines left out after the last hunk. */
  readonly skippedAtEnd: number;
  /** The line break at the end of the file came or went. */
  readonly endNote: string;
}

const AROUND = 3;
/** A gap of so many lines is not worth the line that would say so. */
const SMALL_GAP = 1;

export function fileDiff(oldText: string | undefined, newText: string): FileDiff {
  const before = linesOf(oldText ?? "");
  const after = linesOf(newText);
  const changes = changesBetween(before, after);
  const { hunks, skippedAtEnd } = hunksOf(before, after, changes);
  return {
    isNew: oldText === undefined,
    added: changes.reduce((sum, change) => sum + change.afterEnd - change.afterFrom, 0),
    removed: changes.reduce((sum, change) => sum + change.beforeEnd - change.beforeFrom, 0),
    hunks,
    skippedAtEnd,
    endNote: endNote(oldText, newText),
  };
}

/** "+12 −3", without what there is none of. */
export function formatCounts({
  added,
  removed,
}: {
  readonly added: number;
  readonly removed: number;
}): string {
  const words = [added > 0 ? `+${added}` : "", removed > 0 ? `−${removed}` : ""].filter(
    (word) => word !== "",
  );
  return words.length === 0 ? "no changes" : words.join(" ");
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split(/\r\n|\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function hunksOf(
  before: readonly string[],
  after: readonly string[],
  changes: readonly DiffChange[],
): { readonly hunks: readonly Hunk[]; readonly skippedAtEnd: number } {
  const hunks: Hunk[] = [];
  let lines: DiffLine[] = [];
  let skipped = 0;
  let shown = 0;
  const show = (from: number, end: number, shift: number): void => {
    for (let index = from; index < end; index += 1) {
      lines.push({
        sign: "same",
        oldNumber: index + 1,
        newNumber: index + 1 + shift,
        spans: [{ text: before[index] ?? "", marked: false }],
      });
    }
    shown = end;
  };
  for (const change of changes) {
    const shift = change.afterFrom - change.beforeFrom;
    const gap = change.beforeFrom - shown;
    const isFirst = lines.length === 0;
    if (gap <= (isFirst ? AROUND : 2 * AROUND) + SMALL_GAP) {
      show(shown, change.beforeFrom, shift);
    } else {
      if (!isFirst) {
        show(shown, shown + AROUND, shift);
        hunks.push({ skipped, lines });
        lines = [];
      }
      skipped = change.beforeFrom - AROUND - shown;
      show(change.beforeFrom - AROUND, change.beforeFrom, shift);
    }
    lines.push(...changedLines(before, after, change));
    shown = change.beforeEnd;
  }
  if (lines.length === 0) return { hunks, skippedAtEnd: before.length };
  const last = changes.at(-1);
  const rest = before.length - shown;
  const tail = rest <= AROUND + SMALL_GAP ? rest : AROUND;
  show(shown, shown + tail, last === undefined ? 0 : last.afterEnd - last.beforeEnd);
  hunks.push({ skipped, lines });
  return { hunks, skippedAtEnd: rest - tail };
}

function changedLines(before: readonly string[], after: readonly string[], change: DiffChange): DiffLine[] {
  const old = before.slice(change.beforeFrom, change.beforeEnd);
  const fresh = after.slice(change.afterFrom, change.afterEnd);
  const marked = markWords(old, fresh);
  return [
    ...marked.before.map((spans, index): DiffLine => {
      return { sign: "removed", oldNumber: change.beforeFrom + index + 1, newNumber: undefined, spans };
    }),
    ...marked.after.map((spans, index): DiffLine => {
      return { sign: "added", oldNumber: undefined, newNumber: change.afterFrom + index + 1, spans };
    }),
  ];
}

function endNote(oldText: string | undefined, newText: string): string {
  if (oldText === undefined || oldText === "" || newText === "") return "";
  const had = oldText.endsWith("\n");
  const has = newText.endsWith("\n");
  if (had === has) return "";
  return has ? "Newline at end of file added" : "No newline at end of file";
}
