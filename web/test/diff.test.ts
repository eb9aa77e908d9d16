// What a reader sees of a changed file, and that it is always a true account of the change.

import { describe, expect, test } from "vitest";
import { formatCounts, fileDiff, type FileDiff } from "../src/view/timeline/diff/file-diff";
import { changesBetween, type DiffChange } from "../src/view/timeline/diff/myers";
import { markWords } from "../src/view/timeline/diff/word-diff";
import { chanceOf, whole } from "./events";

function applied<Part>(
  before: readonly Part[],
  after: readonly Part[],
  changes: readonly DiffChange[],
): Part[] {
  const result: Part[] = [];
  let at = 0;
  for (const change of changes) {
    result.push(...before.slice(at, change.beforeFrom), ...after.slice(change.afterFrom, change.afterEnd));
    at = change.beforeEnd;
  }
  return [...result, ...before.slice(at)];
}

function cost(changes: readonly DiffChange[]): number {
  return changes.reduce((sum, one) => sum + one.beforeEnd - one.beforeFrom + one.afterEnd - one.afterFrom, 0);
}

/** The least number of parts to take out and put in, by the textbook's table. */
function leastCost<Part>(before: readonly Part[], after: readonly Part[]): number {
  let row = after.map(() => 0).concat(0);
  for (const part of before) {
    const next = [0];
    after.forEach((other, index) => {
      next.push(part === other ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
    });
    row = next;
  }
  return before.length + after.length - 2 * (row.at(-1) ?? 0);
}

function shown(diff: FileDiff): string[] {
  const signs = { same: " ", added: "+", removed: "-" } as const;
  return diff.hunks.flatMap((hunk) => [
    ...(hunk.skipped > 0 ? [`… ${hunk.skipped}`] : []),
    ...hunk.lines.map((line) => signs[line.sign] + line.spans.map((span) => span.text).join("")),
  ]);
}

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}`);

describe("changes", () => {
  test("lead from one sequence to the other by the shortest way, whatever the two are", () => {
    const chance = chanceOf(7);
    for (let round = 0; round < 500; round++) {
      const some = (): number[] => Array.from({ length: whole(chance, 14) }, () => whole(chance, 4));
      const [before, after] = [some(), some()];
      const changes = changesBetween(before, after);
      expect(applied(before, after, changes)).toEqual(after);
      expect(cost(changes)).toBe(leastCost(before, after));
    }
  });

  test("without patience they are a replacement that is still true", () => {
    const chance = chanceOf(11);
    for (let round = 0; round < 200; round++) {
      const some = (): number[] => Array.from({ length: whole(chance, 40) }, () => whole(chance, 3));
      const [before, after] = [some(), some()];
      expect(applied(before, after, changesBetween(before, after, whole(chance, 60)))).toEqual(after);
    }
  });

  test("two large files that have nothing in common are one change", () => {
    const before = numbered(60_000);
    const after = before.map((line) => `other ${line}`);
    expect(changesBetween(before, after)).toHaveLength(1);
  });
});

describe("a changed file", () => {
  test("shows the change with three lines around it and says how much is left out", () => {
    const before = numbered(20);
    const after = before.with(9, "line ten");
    const diff = fileDiff(before.join("\n"), after.join("\n"));
    expect(shown(diff)).toEqual([
      "… 6",
      " line 7",
      " line 8",
      " line 9",
      "-line 10",
      "+line ten",
      " line 11",
      " line 12",
      " line 13",
    ]);
    expect(diff).toMatchObject({ added: 1, removed: 1, skippedAtEnd: 7, isNew: false });
    expect(formatCounts(diff)).toBe("+1 −1");
  });

  test("numbers lines on both sides", () => {
    const [hunk] = fileDiff("a\nb\nc\n", "a\nnew\nb\nc\n").hunks;
    expect(hunk?.lines.map((line) => [line.oldNumber, line.newNumber])).toEqual([
      [1, 1],
      [undefined, 2],
      [2, 3],
      [3, 4],
    ]);
  });

  test("shows changes that are near each other as one hunk and others apart", () => {
    const before = numbered(40);
    const near = fileDiff(before.join("\n"), before.with(9, "x").with(15, "y").join("\n"));
    expect(near.hunks).toHaveLength(1);
    const far = fileDiff(before.join("\n"), before.with(9, "x").with(30, "y").join("\n"));
    expect(far.hunks.map((hunk) => hunk.skipped)).toEqual([6, 14]);
    expect(far.hunks.flatMap((hunk) => hunk.lines)).toHaveLength(16);
  });

  test("keeps every line: shown and left out together are the file", () => {
    const chance = chanceOf(3);
    for (let round = 0; round < 300; round++) {
      const before = numbered(whole(chance, 60));
      const after = before
        .filter(() => chance() > 0.1)
        .flatMap((line) => (chance() < 0.1 ? [line, "new"] : [line]));
      const diff = fileDiff(before.join("\n"), after.join("\n"));
      const lines = diff.hunks.flatMap((hunk) => hunk.lines);
      const skipped = diff.hunks.reduce((sum, hunk) => sum + hunk.skipped, 0) + diff.skippedAtEnd;
      expect(lines.filter((line) => line.sign !== "added").length + skipped).toBe(before.length);
      expect(lines.filter((line) => line.sign !== "removed").length + skipped).toBe(after.length);
      for (const line of lines) {
        const text = line.spans.map((span) => span.text).join("");
        if (line.oldNumber !== undefined) expect(text).toBe(before[line.oldNumber - 1]);
        if (line.newNumber !== undefined) expect(text).toBe(after[line.newNumber - 1]);
      }
    }
  });

  test("is called new when it was not there, and every line of it is added", () => {
    const diff = fileDiff(undefined, "a\nb\n");
    expect(diff).toMatchObject({ isNew: true, added: 2, removed: 0, endNote: "" });
    expect(formatCounts(diff)).toBe("+2");
    expect(shown(diff)).toEqual(["+a", "+b"]);
  });

  test("tells of a line break at its end, which no line shows", () => {
    expect(fileDiff("a", "a\n")).toMatchObject({
      hunks: [],
      endNote: "Newline at end of file added",
    });
    expect(formatCounts(fileDiff("a\n", "a\n"))).toBe("no changes");
  });
});

describe("words", () => {
  test("that changed are marked in both lines", () => {
    const { before, after } = markWords(["total = add(a, b)"], ["total = sum(a, b)"]);
    expect(before[0]?.filter((span) => span.marked)).toEqual([{ text: "add", marked: true }]);
    expect(after[0]?.filter((span) => span.marked)).toEqual([{ text: "sum", marked: true }]);
  });

  test("are not marked in lines that have little in common", () => {
    const { before } = markWords(["import os"], ["def main(arguments):"]);
    expect(before[0]?.some((span) => span.marked)).toBe(false);
  });
});
