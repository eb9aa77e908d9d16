// Changed words of a changed line.

import { changesBetween } from "./myers";

/** A part of a line. What is marked differs from the line on the other side. */
export interface WordSpan {
  readonly text: string;
  readonly marked: boolean;
}

export interface MarkedLines {
  readonly before: readonly (readonly WordSpan[])[];
  readonly after: readonly (readonly WordSpan[])[];
}

const MANY_LINES = 20;
const LONG_LINE = 500;
const PATIENCE = 20_000;
/** Lines that share less of their letters than this are different lines, not a changed one. */
const ALIKE = 0.4;

/** Compares a stretch line by line; one that grew or shrank, or a long one, has no words marked. */
export function markWords(before: readonly string[], after: readonly string[]): MarkedLines {
  if (before.length !== after.length || before.length > MANY_LINES) {
    return { before: before.map(plain), after: after.map(plain) };
  }
  const pairs = before.map((line, index) => markPair(line, after[index] ?? ""));
  return { before: pairs.map((pair) => pair[0]), after: pairs.map((pair) => pair[1]) };
}

function markPair(before: string, after: string): readonly [readonly WordSpan[], readonly WordSpan[]] {
  if (before.length > LONG_LINE || after.length > LONG_LINE) return [plain(before), plain(after)];
  const old = wordsOf(before);
  const fresh = wordsOf(after);
  const changes = changesBetween(old, fresh, PATIENCE);
  const oldSpans = spansOf(
    old,
    changes.map((change) => [change.beforeFrom, change.beforeEnd]),
  );
  const newSpans = spansOf(
    fresh,
    changes.map((change) => [change.afterFrom, change.afterEnd]),
  );
  const shared = lettersOf(oldSpans);
  const most = Math.max(before.replace(/\s+/g, "").length, after.replace(/\s+/g, "").length);
  return shared < ALIKE * most ? [plain(before), plain(after)] : [oldSpans, newSpans];
}

function plain(text: string): readonly WordSpan[] {
  return [{ text, marked: false }];
}

function wordsOf(line: string): readonly string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

function spansOf(
  words: readonly string[],
  stretches: readonly (readonly [number, number])[],
): readonly WordSpan[] {
  const spans: WordSpan[] = [];
  let from = 0;
  const add = (end: number, marked: boolean): void => {
    if (end > from) spans.push({ text: words.slice(from, end).join(""), marked });
    from = end;
  };
  for (const [begin, end] of stretches) {
    add(begin, false);
    add(end, true);
  }
  add(words.length, false);
  return spans;
}

function lettersOf(spans: readonly WordSpan[]): number {
  return spans.reduce((sum, span) => sum + (span.marked ? 0 : span.text.replace(/\s+/g, "").length), 0);
}
