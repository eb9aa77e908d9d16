import { expect, test } from "vitest";
import { countBadge, sessionOverview } from "../src/views/session-overview";

test("the view of sessions tells what waits in them", () => {
  expect(sessionOverview([])).toBe("");
  expect(sessionOverview([{ toReview: 0, hasDraft: false }])).toBe("");
  expect(sessionOverview([{ toReview: 0, hasDraft: true }])).toBe("1 draft");
  expect(
    sessionOverview([
      { toReview: 2, hasDraft: true },
      { toReview: 1, hasDraft: true },
    ]),
  ).toBe("3 to review · 2 drafts");
});

test("a badge has words for one and for more", () => {
  expect(countBadge(0, "file to review", "files to review")).toBeUndefined();
  expect(countBadge(1, "file to review", "files to review")).toEqual({
    value: 1,
    tooltip: "1 file to review",
  });
  expect(countBadge(3, "file to review", "files to review")).toEqual({
    value: 3,
    tooltip: "3 files to review",
  });
});
