import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { FileOperation, ProposedFileSchema } from "../../web/src/generated/portico/v1/events_pb";
import { canDiff } from "../../web/src/model/proposal-diff";
import { reviewTitle, shownFiles, sidesIn, titleIn } from "../src/review/review-titles";

test("reviews have titles of their own, cut where a tab would cut them", () => {
  expect(reviewTitle("Fix the mast", [])).toBe("Review: Fix the mast");
  expect(reviewTitle("Fix the mast", ["Review: Fix the mast", "Review: Fix the mast, 2"])).toBe(
    "Review: Fix the mast, 3",
  );
  expect(reviewTitle("long ".repeat(20), [])).toBe(`Review: ${"long ".repeat(8).trim()}…`);
});

test("a tab is known by its title, with or without the number of files behind it", () => {
  const titles = ["Review: Mast", "Review: Mast, 2"];
  expect(titleIn("Review: Mast", titles)).toBe("Review: Mast");
  expect(titleIn("Review: Mast (3 files)", titles)).toBe("Review: Mast");
  expect(titleIn("Review: Mast, 2 (3 files)", titles)).toBe("Review: Mast, 2");
  expect(titleIn("Review: Masts (3 files)", titles)).toBeUndefined();
});

test("new files have no old side and deleted ones no new side", () => {
  expect(sidesIn({ operation: FileOperation.CREATE })).toEqual({ old: false, proposed: true });
  expect(sidesIn({ operation: FileOperation.DELETE })).toEqual({ old: true, proposed: false });
  expect(sidesIn({ operation: FileOperation.UPDATE })).toEqual({ old: true, proposed: true });
});

test("a diff shows text, and no conflicts", () => {
  const text = create(ProposedFileSchema, { path: "a.txt" });
  const picture = create(ProposedFileSchema, { path: "a.png", binary: true });
  const conflict = create(ProposedFileSchema, { path: "b.txt", conflict: true });
  expect(shownFiles({ files: [text, picture] })).toEqual([text]);
  expect(canDiff({ files: [text, picture] })).toBe(true);
  expect(canDiff({ files: [text, picture] }, "a.png")).toBe(false);
  expect(canDiff({ files: [picture] })).toBe(false);
  expect(canDiff({ files: [text, conflict] })).toBe(false);
  expect(canDiff(undefined)).toBe(false);
});
