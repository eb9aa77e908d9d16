// Tabs: what is open, what is in front, and that a page opened again has the same.

import { expect, test } from "vitest";
import { TabsModel } from "../src/model/tabs";
import { createTestMemory } from "./memory-server";

function opened(...sessionIds: string[]): TabsModel {
  const tabs = new TabsModel(createTestMemory());
  for (const sessionId of sessionIds) tabs.open(sessionId);
  return tabs;
}

test("a session opens beside the one in front, and only once", () => {
  const tabs = opened("a", "b");
  tabs.open("a");
  tabs.open("c");
  tabs.open("b");
  expect(tabs.tabs.value).toEqual({ open: ["a", "c", "b"], active: "b" });
});

test("the neighbour of a closed tab comes to the front", () => {
  const tabs = opened("a", "b", "c");
  tabs.open("b");
  tabs.close("b");
  expect(tabs.tabs.value).toEqual({ open: ["a", "c"], active: "c" });
  tabs.close("c");
  tabs.close("a");
  tabs.close("a");
  expect(tabs.tabs.value).toEqual({ open: [], active: undefined });
});

test("closed tabs are opened again, the last one first; a deleted session is not", () => {
  const tabs = opened("a", "b", "c", "d");
  for (const sessionId of ["a", "b", "c"]) tabs.close(sessionId);
  tabs.forget("b");
  expect([tabs.reopen(), tabs.tabs.value.active]).toEqual([true, "c"]);
  expect([tabs.reopen(), tabs.tabs.value.active]).toEqual([true, "a"]);
  expect(tabs.reopen()).toBe(false);
  expect(tabs.tabs.value.open).toEqual(["d", "c", "a"]);
});

test("next and previous go round", () => {
  const tabs = opened("a", "b", "c");
  tabs.next();
  expect(tabs.tabs.value.active).toBe("a");
  tabs.previous();
  expect(tabs.tabs.value.active).toBe("c");
  const none = opened();
  none.next();
  expect(none.tabs.value.active).toBeUndefined();
});

test("a tab can be moved anywhere", () => {
  const tabs = opened("a", "b", "c");
  tabs.move("c", 0);
  expect(tabs.tabs.value).toEqual({ open: ["c", "a", "b"], active: "c" });
  tabs.move("c", 99);
  tabs.move("a", -5);
  tabs.move("unknown", 1);
  expect(tabs.tabs.value.open).toEqual(["a", "b", "c"]);
});

test("a page opened again has the same tabs", () => {
  const memory = createTestMemory();
  const before = new TabsModel(memory);
  for (const sessionId of ["a", "b", "c"]) before.open(sessionId);
  before.close("c");
  before.open("a");
  const after = new TabsModel(memory);
  expect(after.tabs.value).toEqual({ open: ["a", "b"], active: "a" });
  expect([after.reopen(), after.tabs.value.active]).toEqual([true, "c"]);
});

test.each([undefined, null, "x", 5, {}, { open: "a" }, { open: [1, "a", "a"], active: "z", closed: 3 }])(
  "a page that remembers nonsense (%j) opens all the same",
  (kept) => {
    const memory = createTestMemory();
    memory.set("tabs", kept);
    const { open, active } = new TabsModel(memory).tabs.value;
    expect(active).toBe(open[0]);
  },
);
