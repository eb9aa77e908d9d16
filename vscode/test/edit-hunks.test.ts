import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ProposedHunkSchema } from "../../web/src/generated/portico/v1/events_pb";
import { editHunks, hunkLabel, hunkNear, shiftHunks, type EditHunk } from "../src/inline-edit/edit-hunks";

const hunk = (hunkId: string, oldStart: number, oldLines: number, newStart: number, newLines: number) =>
  create(ProposedHunkSchema, { hunkId, oldStart, oldLines, newStart, newLines });

const DIFF = `diff --git a/mast.py b/mast.py
--- a/mast.py
+++ b/mast.py
@@ -1,4 +1,4 @@
 one
-two
+TWO
 three
-four
+FOUR
@@ -20,2 +20,4 @@
 twenty
+twenty and a half
+nearly
 twenty-one
@@ -30,3 +32,1 @@
-thirty
-thirty-one
 thirty-two
`;
const hunks = editHunks({
  diff: DIFF,
  hunks: [hunk("a", 1, 4, 1, 4), hunk("b", 20, 2, 20, 4), hunk("c", 30, 3, 32, 1)],
});

test("changes stand at the lines that they replace, follow or remove", () => {
  expect(hunks).toEqual([
    { hunkId: "a", start: 1, end: 4, lines: ["TWO", "three", "FOUR"] },
    { hunkId: "b", start: 20, end: 20, lines: ["twenty and a half", "nearly"] },
    { hunkId: "c", start: 29, end: 31, lines: [] },
  ]);
  expect(hunks.map(hunkLabel)).toEqual(["Replace lines 2–4", "Insert after line 20", "Remove lines 30–31"]);
});

test("a new file is inserted at its beginning", () => {
  const diff = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,1 @@\n+first\n";
  const [only] = editHunks({ diff, hunks: [hunk("a", 0, 0, 1, 1)] });
  expect(only).toEqual({ hunkId: "a", start: 0, end: 0, lines: ["first"] });
  expect(hunkLabel(only as EditHunk)).toBe("Insert at the beginning");
});

test.each([
  [0, "a"],
  [2, "a"],
  [4, "b"],
  [20, "b"],
  [25, "c"],
  [90, "a"],
])("from line %i a key decides on the change at the cursor or the next one", (line, wanted) => {
  expect(hunkNear(hunks, line)?.hunkId).toBe(wanted);
});

test("what is typed above a change moves it, and what is typed below does not", () => {
  const starts = (changed: readonly EditHunk[]): number[] => changed.map(({ start }) => start);
  expect(starts(shiftHunks(hunks, { start: 6, end: 7, lines: 3 }))).toEqual([1, 22, 31]);
  expect(starts(shiftHunks(hunks, { start: 50, end: 51, lines: 3 }))).toEqual([1, 20, 29]);
  expect(starts(shiftHunks(hunks, { start: 10, end: 13, lines: 1 }))).toEqual([1, 18, 27]);
  expect(shiftHunks(hunks, { start: 6, end: 7, lines: 1 })).toBe(hunks);
});
