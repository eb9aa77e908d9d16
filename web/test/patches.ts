// Patches for tests, as git writes them, and what becomes of a text by some of their hunks.

import { changesBetween, type DiffChange as Difference } from "../src/view/timeline/diff/myers";

export interface Sides {
  readonly path: string;
  readonly old?: string;
  readonly new?: string;
}

export interface TestHunk {
  readonly hunkId: string;
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
}

const AROUND = 3;

export function patchOf(sides: Sides) {
  const before = linesOf(sides.old);
  const after = linesOf(sides.new);
  const hunks: TestHunk[] = [];
  const old = sides.old === undefined ? "/dev/null" : `a/${sides.path}`;
  const fresh = sides.new === undefined ? "/dev/null" : `b/${sides.path}`;
  const lines = [`diff --git a/${sides.path} b/${sides.path}`, `--- ${old}`, `+++ ${fresh}`];
  let [added, removed] = [0, 0];
  for (const group of groupsOf(before, after)) {
    const { header, body, hunk } = written(before, after, group);
    hunks.push(hunk);
    lines.push(header, ...body);
    added += body.filter((line) => line.startsWith("+")).length;
    removed += body.filter((line) => line.startsWith("-")).length;
  }
  return { diff: hunks.length === 0 ? "" : `${lines.join("\n")}\n`, hunks, added, removed };
}

/** The old text with some of the hunks. */
export function applyHunks(sides: Sides, hunkIds: readonly string[]): string {
  const before = linesOf(sides.old);
  const after = linesOf(sides.new);
  const result: string[] = [];
  let at = 0;
  for (const group of groupsOf(before, after)) {
    const { hunk, from, end, newFrom, newEnd } = written(before, after, group);
    result.push(...before.slice(at, from));
    result.push(...(hunkIds.includes(hunk.hunkId) ? after.slice(newFrom, newEnd) : before.slice(from, end)));
    at = end;
  }
  result.push(...before.slice(at));
  return result.map((line) => `${line}\n`).join("");
}

function groupsOf(before: readonly string[], after: readonly string[]): readonly (readonly Difference[])[] {
  const groups: Difference[][] = [];
  for (const change of changesBetween(before, after)) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && change.beforeFrom - last.beforeEnd <= 2 * AROUND) groups.at(-1)?.push(change);
    else groups.push([change]);
  }
  return groups;
}

function written(before: readonly string[], after: readonly string[], group: readonly Difference[]) {
  const [first] = group;
  const last = group.at(-1);
  if (first === undefined || last === undefined) throw new Error("a hunk has a change");
  const from = Math.max(0, first.beforeFrom - AROUND);
  const end = Math.min(before.length, last.beforeEnd + AROUND);
  const newFrom = first.afterFrom - (first.beforeFrom - from);
  const newEnd = last.afterEnd + (end - last.beforeEnd);
  const body: string[] = [];
  let at = from;
  for (const change of group) {
    body.push(...before.slice(at, change.beforeFrom).map((line) => ` ${line}`));
    body.push(...before.slice(change.beforeFrom, change.beforeEnd).map((line) => `-${line}`));
    body.push(...after.slice(change.afterFrom, change.afterEnd).map((line) => `+${line}`));
    at = change.beforeEnd;
  }
  body.push(...before.slice(at, end).map((line) => ` ${line}`));
  const [oldLines, newLines] = [end - from, newEnd - newFrom];
  const hunk: TestHunk = {
    hunkId: `${from}:${body.join("|").length}:${body.findIndex((line) => line.startsWith("+"))}`,
    oldStart: from + (oldLines === 0 ? 0 : 1),
    oldLines,
    newStart: newFrom + (newLines === 0 ? 0 : 1),
    newLines,
  };
  const header = `@@ -${hunk.oldStart},${oldLines} +${hunk.newStart},${newLines} @@`;
  return { header, body, hunk, from, end, newFrom, newEnd };
}

function linesOf(text: string | undefined): readonly string[] {
  if (text === undefined || text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
