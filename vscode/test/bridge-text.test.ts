import { expect, test } from "vitest";
import { findChange, normalizeText, lineEndOf } from "../src/bridge/text-change";

const applied = (before: string, after: string): string => {
  const change = findChange(before, after);
  return change === undefined
    ? before
    : before.slice(0, change.start) + change.text + before.slice(change.end);
};

test("only what differs is replaced", () => {
  expect(findChange("a\nb\nc\n", "a\nB\nc\n")).toEqual({ start: 2, end: 3, text: "B" });
  expect(findChange("a\n", "a\nb\n")).toEqual({ start: 2, end: 2, text: "b\n" });
  expect(findChange("aaa", "aa")).toEqual({ start: 2, end: 3, text: "" });
  expect(findChange("same", "same")).toBeUndefined();
});

test("neither a code point nor a line end is cut in two", () => {
  // Both begin with the same half of a pair, and the second pair ends with the same half.
  expect(findChange("x😀y", "x😁y")).toEqual({ start: 1, end: 3, text: "😁" });
  expect(findChange("\u{1F600}", "\u{1FA00}")).toEqual({ start: 0, end: 2, text: "\u{1FA00}" });
  expect(findChange("a\r\nb", "a\rb")).toEqual({ start: 1, end: 3, text: "\r" });
});

test("any text becomes any other, without half a pair at either edge", () => {
  const letters = ["a", "b", "\n", "\r\n", "😀", "😁", "\u{1FA00}", "é", ""];
  let seed = 7;
  const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const text = (): string => Array.from({ length: next(9) }, () => letters[next(letters.length)]).join("");
  for (let round = 0; round < 3_000; round++) {
    const [before, after] = [text(), text()];
    expect(applied(before, after)).toBe(after);
    const change = findChange(before, after);
    if (change === undefined) continue;
    for (const part of [before.slice(0, change.start), before.slice(change.end), change.text]) {
      expect(() => encodeURIComponent(part)).not.toThrow();
      expect(before.slice(0, change.start).endsWith("\r") && before[change.start] === "\n").toBe(false);
    }
  }
});

test("the line ends of a text are known, and so are those that an editor cannot keep", () => {
  expect(lineEndOf("a\nb")).toBe("\n");
  expect(lineEndOf("a\r\nb\r\n")).toBe("\r\n");
  expect(lineEndOf("a\r\nb\n")).toBe("mixed");
  expect(lineEndOf("a\rb")).toBe("mixed");
  expect(lineEndOf("a")).toBeUndefined();
  expect(normalizeText("\uFEFFa\r\nb\n")).toBe("a\nb\n");
  expect(normalizeText("a\nb\n", "\r\n")).toBe("a\r\nb\r\n");
});
