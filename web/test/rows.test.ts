// How items become the rows of the timeline, and what is found in them.

import { describe, expect, test } from "vitest";
import { ToolKind } from "../src/generated/portico/v1/events_pb";
import { Timeline } from "../src/model/timeline";
import type { Item } from "../src/model/types";
import { formatDuration } from "../src/view/timeline/duration";
import { shortPath } from "../src/view/timeline/short-path";
import { itemsOf, RowFold, type TimelineRow } from "../src/view/timeline/timeline-rows";
import { hasMatch, matcherOf } from "../src/view/timeline/text-search";
import { stepsSummary, stepsTitle } from "../src/view/timeline/steps";
import { textParts } from "../src/view/timeline/prompt";
import { Log } from "./events";

const QUIET = { showThinking: false, pinnedPlan: undefined };

function itemsOfLog(log: Log, from = 1): readonly Item[] {
  const timeline = new Timeline();
  timeline.append(log.events.slice(from - 1));
  return timeline.items;
}

function tool(log: Log, toolId: string, kind = ToolKind.READ, path = "", success = true): Log {
  const locations = path === "" ? [] : [{ path }];
  log.add("toolStarted", { toolId, title: toolId, toolKind: kind, locations });
  return log.add("toolCompleted", { toolId, success, durationMs: 1n });
}

const shapes = (rows: readonly TimelineRow[]): string[] =>
  rows.map((row) => (row.type === "steps" ? `${row.steps.length} steps` : row.item.type));

describe("rows", () => {
  test("fold three finished tool calls in a row, and no fewer", () => {
    const log = tool(tool(new Log().prompt("go"), "a"), "b");
    const fold = new RowFold();
    expect(shapes(fold.fold(itemsOfLog(log), QUIET))).toEqual(["prompt", "tool", "tool"]);
    tool(log, "c").text("Done.");
    expect(shapes(fold.fold(itemsOfLog(log), QUIET))).toEqual(["prompt", "3 steps", "answer"]);
  });

  test("leave out of the fold what still runs, what failed, and what comes after", () => {
    const log = tool(tool(tool(new Log().prompt("go"), "a"), "b"), "c");
    tool(log, "d", ToolKind.READ, "", false).add("toolStarted", { toolId: "e", title: "e" });
    expect(shapes(new RowFold().fold(itemsOfLog(log), QUIET))).toEqual(["prompt", "3 steps", "tool", "tool"]);
  });

  test("take thoughts between tool calls into the fold, unless thinking is to be seen", () => {
    const log = tool(tool(new Log().prompt("go").think("first"), "a").think("then"), "b");
    tool(log.think("now"), "c").think("last").text("Done.");
    const items = itemsOfLog(log);
    expect(shapes(new RowFold().fold(items, QUIET))).toEqual([
      "prompt",
      "thought",
      "5 steps",
      "thought",
      "answer",
    ]);
    const thoughtful = new RowFold().fold(items, { ...QUIET, showThinking: true });
    expect(shapes(thoughtful)).not.toContain("5 steps");
    expect(thoughtful).toHaveLength(items.length);
  });

  test("leave out the plan that is shown elsewhere", () => {
    const log = new Log()
      .prompt("go")
      .add("planUpdated", { entries: [{ content: "one" }] })
      .text("Hi");
    const items = itemsOfLog(log);
    const plan = items.find((item) => item.type === "plan")?.key;
    expect(shapes(new RowFold().fold(items, QUIET))).toEqual(["prompt", "plan", "answer"]);
    expect(shapes(new RowFold().fold(items, { ...QUIET, pinnedPlan: plan }))).toEqual(["prompt", "answer"]);
  });

  test("stay the same objects while nothing changes in them", () => {
    const log = tool(tool(tool(new Log().prompt("go"), "a"), "b"), "c").text("Hi");
    const timeline = new Timeline();
    timeline.append(log.events);
    const fold = new RowFold();
    const before = fold.fold(timeline.items, QUIET);
    timeline.append(log.text(" there").events);
    const after = fold.fold(timeline.items, QUIET);
    expect(after.map((row, index) => row === before[index])).toEqual([true, true, false]);
  });

  test("keep the key of a fold that grows at its end or at its beginning", () => {
    const log = new Log().prompt("go");
    for (const id of ["a", "b", "c", "d", "e"]) tool(log, id);
    const cut = log.events.findIndex(
      (event) => event.payload.case === "toolStarted" && event.payload.value.toolId === "c",
    );
    const timeline = new Timeline();
    timeline.append(log.events.slice(cut));
    const fold = new RowFold();
    const [first] = fold.fold(timeline.items, QUIET);
    timeline.append(tool(log, "f").events.slice(cut));
    const [grown] = fold.fold(timeline.items, QUIET);
    timeline.prepend(log.events.slice(0, cut));
    const whole = fold.fold(timeline.items, QUIET)[1];
    expect([first, grown, whole].map((row) => row && itemsOf(row).length)).toEqual([3, 4, 6]);
    expect(grown?.key).toBe(first?.key);
    expect(whole?.key).toBe(first?.key);
  });
});

describe("steps in words", () => {
  const steps = (log: Log): Item[] => itemsOfLog(log).filter((item) => item.type === "tool");

  test("count files once and commands each time", () => {
    const log = tool(
      tool(tool(new Log().prompt("go"), "a", ToolKind.READ, "/w/a"), "b", ToolKind.READ, "/w/a"),
      "c",
      ToolKind.READ,
      "/w/b",
    );
    tool(tool(tool(log, "d", ToolKind.EXECUTE), "e", ToolKind.EXECUTE), "f", ToolKind.EDIT, "/w/a");
    const done = steps(log) as Parameters<typeof stepsSummary>[0];
    expect(stepsTitle(done)).toBe("6 steps");
    expect(stepsSummary(done)).toBe("read 2 files, edited 1 file, ran 2 commands");
  });
});

describe("finding", () => {
  const found = (log: Log, query: string): string[] => {
    const matcher = matcherOf(query);
    return matcher === undefined
      ? []
      : itemsOfLog(log).flatMap((item) => (hasMatch(item, matcher) ? [item.type] : []));
  };

  test("looks into prompts, answers, thoughts and everything of a tool call, whatever the case", () => {
    const log = new Log().prompt("About Needles").think("a needle").text("No NEEDLE here");
    log.add("toolStarted", { toolId: "a", title: "run", inputJson: '{"command":"grep hay"}' });
    log.add("toolUpdated", { toolId: "a", terminal: { terminalId: "t", text: "hay\nneedle\n" } });
    log.add("toolCompleted", {
      toolId: "a",
      success: true,
      content: { parts: [{ part: { case: "diff", value: { path: "x.py", newText: "thread" } } }] },
    });
    expect(found(log, "needle")).toEqual(["prompt", "thought", "answer", "tool"]);
    expect(found(log, "grep")).toEqual(["tool"]);
    expect(found(log, "thread")).toEqual(["tool"]);
  });

  test("takes signs as signs, and looks for nothing when there is nothing to look for", () => {
    const log = new Log().prompt("what (is) this?").text("a.b");
    expect(found(log, "(is)")).toEqual(["prompt"]);
    expect(found(log, "a+b")).toEqual([]);
    expect(matcherOf("  ")).toBeUndefined();
  });
});

test("durations are said as people say them", () => {
  expect([20, 400, 9_940, 12_300, 59_600, 125_000, 120_000, 3_700_000].map(formatDuration)).toEqual([
    "",
    "0.4 s",
    "9.9 s",
    "12 s",
    "1 min",
    "2 min 5 s",
    "2 min",
    "1 h 1 min",
  ]);
});

test("paths of the folder are said without it, and others as they are", () => {
  expect(["/w/a/b.py", "/w", "/work/c", "d.py"].map((path) => shortPath(path, "/w/"))).toEqual([
    "a/b.py",
    ".",
    "/work/c",
    "d.py",
  ]);
});

test("parts of a long text are the text", () => {
  const text = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join("\n");
  expect(textParts(text).length).toBeGreaterThan(2);
  expect(textParts(text).join("\n")).toBe(text);
  expect(textParts("x".repeat(40_000)).join("")).toBe("x".repeat(40_000));
});
