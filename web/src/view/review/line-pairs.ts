// Pairs removed lines with added ones, for side-by-side display and word comparison.

import type { PatchLine } from "../../model/patch";

/** Lines that were changed, side by side; one of them is missing where a line only went or only came. */
export interface LinePair {
  readonly old: PatchLine | undefined;
  readonly new: PatchLine | undefined;
}

/** More lines on a side are paired in their order, without a search for those that are alike. */
const FEW_LINES = 14;
const ALIKE = 0.5;

/** The lines of a hunk as pairs; a line that is the same stands on both sides. */
export function pairsOf(lines: readonly PatchLine[]): readonly LinePair[] {
  const pairs: LinePair[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    if (line === undefined) break;
    if (line.sign === "same") {
      pairs.push({ old: line, new: line });
      at += 1;
      continue;
    }
    const removed = stretch(lines, at, "removed");
    const added = stretch(lines, at + removed.length, "added");
    pairs.push(...pairUp(removed, added));
    at += removed.length + added.length;
  }
  return pairs;
}

function stretch(lines: readonly PatchLine[], from: number, sign: PatchLine["sign"]): readonly PatchLine[] {
  let end = from;
  while (lines[end]?.sign === sign) end += 1;
  return lines.slice(from, end);
}

function pairUp(removed: readonly PatchLine[], added: readonly PatchLine[]): readonly LinePair[] {
  const isShort = removed.length <= FEW_LINES && added.length <= FEW_LINES;
  if (!isShort || removed.length + added.length <= 2) return inOrder(removed, added);
  const pairs: LinePair[] = [];
  let [nextOld, nextNew] = [0, 0];
  for (const [index, mate] of bestMates(removed, added).entries()) {
    if (mate === undefined) continue;
    pairs.push(...inOrder(removed.slice(nextOld, index), added.slice(nextNew, mate)));
    pairs.push({ old: removed[index], new: added[mate] });
    [nextOld, nextNew] = [index + 1, mate + 1];
  }
  pairs.push(...inOrder(removed.slice(nextOld), added.slice(nextNew)));
  return pairs;
}

function inOrder(removed: readonly PatchLine[], added: readonly PatchLine[]): readonly LinePair[] {
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, index) => ({
    old: removed[index],
    new: added[index],
  }));
}

/** For each removed line the place of its mate, in order, so that all mates together are as alike as can be. */
function bestMates(
  removed: readonly PatchLine[],
  added: readonly PatchLine[],
): readonly (number | undefined)[] {
  const width = added.length + 1;
  const best = new Float64Array((removed.length + 1) * width);
  const at = (row: number, column: number): number => best[row * width + column] ?? 0;
  const olds = removed.map((line) => wordsOf(line.text));
  const news = added.map((line) => wordsOf(line.text));
  const likeness = olds.map((old) => news.map((fresh) => alike(old, fresh)));
  const gain = (row: number, column: number): number => {
    const value = likeness[row]?.[column] ?? 0;
    return value < ALIKE ? -Infinity : value;
  };
  for (let row = removed.length - 1; row >= 0; row -= 1) {
    for (let column = added.length - 1; column >= 0; column -= 1) {
      const together = gain(row, column) + at(row + 1, column + 1);
      best[row * width + column] = Math.max(together, at(row + 1, column), at(row, column + 1));
    }
  }
  const mates: (number | undefined)[] = removed.map(() => undefined);
  for (let row = 0, column = 0; row < removed.length && column < added.length;) {
    if (gain(row, column) + at(row + 1, column + 1) === at(row, column)) {
      mates[row] = column;
      row += 1;
      column += 1;
    } else if (at(row + 1, column) === at(row, column)) row += 1;
    else column += 1;
  }
  return mates;
}

/** Signs are in every line, so they say little; a line that has nothing else is known by them. */
function wordsOf(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}_]+/gu) ?? text.match(/\S/gu) ?? [];
}

/** The share of words that both have. */
function alike(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 || other.length === 0) return 0;
  const left = new Map<string, number>();
  for (const word of one) left.set(word, (left.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of other) {
    const count = left.get(word) ?? 0;
    if (count > 0) shared += 1;
    left.set(word, count - 1);
  }
  return (2 * shared) / (one.length + other.length);
}
