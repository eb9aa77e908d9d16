// Tours: read from the output of a tool call, found again when lines have moved, kept as CodeTour files.

import { expect, test } from "vitest";
import { codeTour, findLine, readTour, tourFileName, type Tour, type TourStep } from "../src/model/tour";
import { stepOfKey } from "../src/view/timeline/tour-card";

const STEP: TourStep = {
  path: "cart.py",
  text: "Adds.",
  line: 3,
  symbol: "Cart.total",
  excerpt: { line: 2, text: "\n    def total(self) -> int:\n        pass" },
  problem: "",
};

test("a tour is read from an output, and other outputs are none", () => {
  const told = { title: "The cart", steps: [{ path: "cart.py", text: "Adds.", line: 3 }, { path: 4 }, null] };
  const tour = readTour(JSON.stringify({ tour: told }));
  expect(tour?.title).toBe("The cart");
  expect(tour?.steps.map(({ path, line, text }) => [path, line, text])).toEqual([
    ["cart.py", 3, "Adds."],
    ["", 0, ""],
    ["", 0, ""],
  ]);
  for (const other of [undefined, "", '{"tour": 1}', '{"tour": {"title": "x", "steps": []}}', '"tour', "[]"])
    expect(readTour(other)).toBeUndefined();
});

test("a step is found where its line has moved to", () => {
  const body = ["class Cart:", "", "    def total(self) -> int:", "        pass"];
  expect(findLine(body, STEP)).toBe(3);
  expect(findLine(["import x", "", ...body], STEP)).toBe(5);
  expect(findLine(["class Cart:", "    def total(self, tax) -> int:"], STEP)).toBe(2);
  expect(findLine(["subtotal = 1"], STEP)).toBeUndefined();
  expect(findLine(["a", "b", "c"], { ...STEP, symbol: "", excerpt: undefined })).toBe(3);
  expect(findLine(["a"], { ...STEP, symbol: "", excerpt: undefined })).toBeUndefined();
});

test("a tour is kept as a CodeTour file", () => {
  const tour: Tour = {
    title: "The cart, step by step!",
    steps: [STEP, { ...STEP, symbol: "", path: "a.py" }, { ...STEP, line: 0, path: "gone.py" }],
  };
  expect(tourFileName(tour)).toBe(".tours/the-cart-step-by-step.tour");
  expect(tourFileName({ title: "买", steps: [] })).toBe(".tours/tour.tour");
  const kept = JSON.parse(codeTour(tour)) as { steps: { file: string; pattern?: string; line?: number }[] };
  const [first, second, third] = kept.steps;
  expect(new RegExp(first?.pattern ?? "", "m").test("x\n  def total(self) -> int:\n")).toBe(true);
  expect(second).toEqual({ file: "a.py", line: 3, description: "Adds." });
  expect(third).toEqual({ file: "gone.py", description: "Adds." });
});

test("arrows, Home, End and digits go to steps", () => {
  expect(["ArrowRight", "ArrowLeft", "Home", "End", "3"].map((key) => stepOfKey(key, 1, 3))).toEqual([
    2, 0, 0, 3, 2,
  ]);
  expect(["5", "0", "j", "Enter"].map((key) => stepOfKey(key, 1, 3))).toEqual(Array(4).fill(undefined));
});
