// Where rows stand in a list that is only partly on the page.

import { describe, expect, test } from "vitest";
import { covers, RowLayout, type RowPlace } from "../src/view/timeline/row-layout";
import { chanceOf, whole } from "./events";

const rows = (...keys: string[]): RowPlace[] => keys.map((key) => ({ key, guess: 10 }));

describe("a layout", () => {
  test("stands on guesses until rows are measured", () => {
    const layout = new RowLayout();
    layout.setRows(rows("a", "b", "c"));
    expect([layout.offset(0), layout.offset(2), layout.total]).toEqual([0, 20, 30]);
    layout.setHeight("b", 100);
    expect([layout.offset(1), layout.offset(2), layout.total]).toEqual([10, 110, 120]);
  });

  test("keeps what was measured when earlier rows are put in front", () => {
    const layout = new RowLayout();
    layout.setRows(rows("c", "d"));
    layout.setHeight("c", 50);
    layout.setRows(rows("a", "b", "c", "d"));
    expect([layout.offset(2), layout.offset(3), layout.total]).toEqual([20, 70, 80]);
    expect(layout.indexOf("c")).toBe(2);
  });

  test("knows whether a measured height is news", () => {
    const layout = new RowLayout();
    layout.setRows(rows("a"));
    expect([layout.setHeight("a", 12), layout.setHeight("a", 12)]).toEqual([true, false]);
  });

  test("finds the row at a height, also above the first and below the last", () => {
    const layout = new RowLayout();
    layout.setRows(rows("a", "b", "c"));
    expect([-5, 0, 9.9, 10, 29, 30, 1000].map((height) => layout.indexAt(height))).toEqual([
      0, 0, 0, 1, 2, 2, 2,
    ]);
  });

  test("has no rows to show when there are none", () => {
    expect(new RowLayout().range(0, 100)).toEqual({ first: 0, end: 0 });
  });

  test("agrees with plain addition whatever happens to it", () => {
    const chance = chanceOf(5);
    const layout = new RowLayout();
    const heights = new Map<string, number>();
    let keys: string[] = [];
    for (let round = 0; round < 400; round++) {
      if (chance() < 0.3) keys = [`front ${round}`, ...keys];
      if (chance() < 0.5) keys = [...keys, `end ${round}`];
      if (chance() < 0.05) keys = keys.filter(() => chance() < 0.9);
      layout.setRows(rows(...keys));
      const key = keys[whole(chance, keys.length)];
      if (key !== undefined) {
        const height = whole(chance, 200);
        heights.set(key, height);
        layout.setHeight(key, height);
      }
      const index = whole(chance, keys.length + 1);
      const sum = keys.slice(0, index).reduce((total, one) => total + (heights.get(one) ?? 10), 0);
      expect(layout.offset(index)).toBe(sum);
    }
  });
});

test("a range covers another if all of its rows are there", () => {
  expect(covers({ first: 2, end: 9 }, { first: 2, end: 8 })).toBe(true);
  expect(covers({ first: 2, end: 9 }, { first: 1, end: 8 })).toBe(false);
  expect(covers({ first: 2, end: 9 }, { first: 2, end: 10 })).toBe(false);
});
