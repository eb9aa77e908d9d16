// The smallest replacement that turns one text into another, so that cursors, folds and breakpoints outside it stay.

export interface TextChange {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type LineEnd = "\n" | "\r\n";

/** Undefined where there is nothing to change. Neither a code point nor a line end is ever cut in two. */
export function findChange(before: string, after: string): TextChange | undefined {
  if (before === after) return undefined;
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  while (start > 0 && (cuts(before, start) || cuts(after, start))) start--;
  let tail = 0;
  while (tail < shorter - start && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  while (tail > 0 && (cuts(before, before.length - tail) || cuts(after, after.length - tail))) tail--;
  return { start, end: before.length - tail, text: after.slice(start, after.length - tail) };
}

/** The one way in which the lines of a text end; undefined for a single line without an end. */
export function lineEndOf(text: string): LineEnd | "mixed" | undefined {
  const ends = new Set(text.match(/\r\n|\r|\n/g));
  if (ends.size === 0) return undefined;
  const [end] = ends;
  return ends.size === 1 && end !== "\r" ? (end as LineEnd) : "mixed";
}

/** A text as an editor holds it: without the mark of its encoding, with one kind of line end. */
export function normalizeText(text: string, lineEnd: LineEnd = "\n"): string {
  return text.replace(/^\uFEFF/, "").replace(/\r\n|\r|\n/g, lineEnd);
}

function cuts(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  if (text[at - 1] === "\r" && text[at] === "\n") return true;
  return isBetween(text.charCodeAt(at - 1), 0xd800, 0xdbff) && isBetween(text.charCodeAt(at), 0xdc00, 0xdfff);
}

function isBetween(value: number, low: number, high: number): boolean {
  return low <= value && value <= high;
}
