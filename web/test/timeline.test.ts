// What a person sees of a log, and that it makes no difference in which pages the log came.

import { describe, expect, test } from "vitest";
import { ToolStatus, TurnState } from "../src/generated/portico/v1/events_pb";
import { Timeline } from "../src/model/timeline";
import type { Item } from "../src/model/types";
import { chanceOf, Log, randomLog, typicalLog, whole } from "./events";

function folded(log: Log, from = 1): Timeline {
  const timeline = new Timeline();
  timeline.append(log.events.slice(from - 1));
  return timeline;
}

function only<Type extends Item["type"]>(timeline: Timeline, type: Type): Extract<Item, { type: Type }>[] {
  return timeline.items.filter((item): item is Extract<Item, { type: Type }> => item.type === type);
}

/** Everything but the key, which is as old as the item is on the screen. */
function seen(items: readonly Item[]): object[] {
  return items.map(({ key, ...item }) => (key === "" ? {} : item));
}

describe("words", () => {
  test("deltas of one message are one answer, and what the screen need not show does not part them", () => {
    const log = new Log().start().prompt("hello").text("Hi ", "m1");
    log.add("usageUpdated", { used: 5n }).add("titleUpdated", { title: "Greeting" }).text("there", "m1");
    const [answer] = only(folded(log), "answer");
    expect(answer).toMatchObject({ text: "Hi there", open: true, partial: false, firstSeq: 4, lastSeq: 7 });
  });

  test("another message, or anything shown in between, begins another answer", () => {
    const log = new Log().start().prompt("hello").text("one", "m1").text("two", "m2");
    log.add("notice", { text: "careful" }).text("three", "m2");
    expect(folded(log).items.map((item) => item.type)).toEqual([
      "prompt",
      "answer",
      "answer",
      "notice",
      "answer",
    ]);
    expect(only(folded(log), "answer").map((answer) => answer.open)).toEqual([false, false, true]);
  });

  test("an answer closes with its turn", () => {
    expect(only(folded(new Log().prompt("hello").text("Hi").end()), "answer")[0]?.open).toBe(false);
  });

  test("a tool that prints while the agent speaks does not cut the answer", () => {
    const log = new Log().prompt("go").add("toolStarted", { toolId: "a", title: "make" }).text("Meanwhile ");
    log.add("toolUpdated", { toolId: "a", terminal: { terminalId: "x", text: "ok\n" } }).text("I think.");
    expect(only(folded(log), "answer").map((answer) => answer.text)).toEqual(["Meanwhile I think."]);
  });

  test("a thought lasts until something else is shown", () => {
    const log = new Log().prompt("go").think("hm").think(" yes").add("usageUpdated", {}).text("Done.");
    expect(only(folded(log), "thought")[0]).toMatchObject({ text: "hm yes", open: false, durationMs: 300 });
  });

  test("images of an answer and files of a prompt are kept", () => {
    const log = new Log().add("promptSubmitted", {
      text: "look",
      blocksJson: ['{"type":"resource_link","uri":"file:///w/a.py","name":"a.py"}', "no JSON"],
    });
    log.add("textDelta", { blockJson: '{"type":"image","data":"AAAA","mimeType":"image/png"}' });
    const timeline = folded(log);
    expect(only(timeline, "prompt")[0]?.blocks).toMatchObject([
      { type: "resource_link", uri: "file:///w/a.py", name: "a.py" },
      { type: "other", json: "no JSON" },
    ]);
    expect(only(timeline, "answer")[0]?.blocks).toMatchObject([{ type: "image", data: "AAAA" }]);
  });
});

describe("tools", () => {
  const started = (): Log =>
    new Log().prompt("go").add("toolStarted", { toolId: "a", title: "make", name: "run" });

  test("a tool call is one card from its start to its end", () => {
    const log = started().add("toolUpdated", { toolId: "a", terminal: { terminalId: "x", text: "one\n" } });
    log.add("toolUpdated", { toolId: "a", status: ToolStatus.IN_PROGRESS, title: "make all" });
    log.add("toolUpdated", {
      toolId: "a",
      terminal: { terminalId: "x", text: "two\n", ended: true, exitCode: 0 },
    });
    log.add("toolCompleted", { toolId: "a", success: true, durationMs: 40n, content: { parts: [] } });
    const [tool, ...others] = only(folded(log), "tool");
    expect(others).toEqual([]);
    expect(tool).toMatchObject({
      title: "make all",
      name: "run",
      status: ToolStatus.COMPLETED,
      durationMs: 40,
    });
    expect(tool?.terminals.get("x")).toMatchObject({ text: "one\ntwo\n", last: { exitCode: 0 } });
  });

  test("an id that comes again in another turn is another card", () => {
    const log = started().end().prompt("again").add("toolStarted", { toolId: "a", title: "make" });
    expect(new Set(only(folded(log), "tool").map((tool) => tool.key)).size).toBe(2);
  });

  test("a tool call whose turn ends before it does is abandoned", () => {
    const log = started().add("toolStarted", { toolId: "b", title: "test" });
    log
      .add("toolCompleted", { toolId: "b", success: false, durationMs: 1n })
      .end(TurnState.CANCELED, "cancelled");
    expect(only(folded(log), "tool").map((tool) => tool.abandoned)).toEqual([true, false]);
  });

  test("content that goes on is one text, wherever the pages of the log begin", () => {
    const log = started();
    log.add("toolUpdated", {
      toolId: "a",
      content: { parts: [{ part: { case: "text", value: { text: "```\none\n```" } } }] },
    });
    for (const line of ["two", "three", "four"])
      log.add("toolUpdated", { toolId: "a", grown: { dropped: 3, text: `${line}\n\`\`\`` } });
    const text = "```\none\ntwo\nthree\nfour\n```";
    const parts = [{ part: { case: "text", value: { text } } }];
    for (let from = 1; from <= log.lastSeq; from++) {
      const timeline = folded(log, from);
      timeline.prepend(log.events.slice(0, from - 1));
      expect(only(timeline, "tool")[0]?.content).toMatchObject(parts);
    }
  });

  test("a tool call whose beginning is not loaded stands first, as a part", () => {
    const log = started()
      .text("Meanwhile.")
      .add("toolCompleted", { toolId: "a", success: true, durationMs: 1n });
    const [tool, answer] = folded(log, 4).items;
    expect(tool).toMatchObject({ type: "tool", partial: true, status: ToolStatus.COMPLETED, title: "" });
    expect(answer).toMatchObject({ type: "answer", partial: true });
  });
});

describe("asking", () => {
  test("a permission shows how it was decided, the latest of its id", () => {
    const log = new Log().prompt("go").add("permissionRequested", { requestId: "p1", title: "first" });
    log.add("permissionResolved", { requestId: "p1", optionId: "yes" }).end();
    log.prompt("again").add("permissionRequested", { requestId: "p1", title: "second" });
    const [first, second] = only(folded(log), "permission");
    expect(first?.resolved?.optionId).toBe("yes");
    expect(second).toMatchObject({ resolved: undefined, abandoned: false });
  });

  test("a question that nobody answered cannot be answered after its turn", () => {
    const log = new Log().prompt("go").add("questionAsked", { requestId: "q1", message: "which?" });
    log.end(TurnState.INTERRUPTED, "interrupted");
    expect(only(folded(log), "question")[0]).toMatchObject({ answered: undefined, abandoned: true });
  });
});

describe("quiet lines", () => {
  test("an ordinary end is not told; a stop, a cut and a long turn are", () => {
    const log = new Log().prompt("a").end().prompt("b").end(TurnState.CANCELED, "cancelled");
    log.prompt("c").end(TurnState.COMPLETED, "max_tokens").prompt("d").end(TurnState.FAILED, "error");
    log.add("turnEnded", { state: TurnState.COMPLETED, stopReason: "end_turn", durationMs: 61_000n });
    expect(only(folded(log), "end").map(({ ended }) => ended.stopReason)).toEqual([
      "cancelled",
      "max_tokens",
      "end_turn",
    ]);
  });

  test("a session opened again and again without a word says so once", () => {
    const timeline = folded(new Log().start().prompt("a").end().start(true).start(true).start(true));
    expect(only(timeline, "mark")).toMatchObject([{ firstSeq: 6, lastSeq: 8 }]);
  });

  test("the plan of a turn is one card", () => {
    const log = new Log()
      .prompt("go")
      .add("planUpdated", { entries: [{ content: "one" }] })
      .text("So.");
    log.add("planUpdated", { entries: [{ content: "one" }, { content: "two" }] });
    const timeline = folded(log);
    expect(timeline.items.map((item) => item.type)).toEqual(["prompt", "plan", "answer"]);
    expect(only(timeline, "plan")[0]?.entries).toHaveLength(2);
  });
});

describe("once and in order", () => {
  test("an event that was seen is ignored, and nothing is shown beyond a gap", () => {
    const { events } = new Log().prompt("go").text("a").text("b").text("c");
    const timeline = new Timeline();
    expect(timeline.append(events.slice(0, 3))).toBeUndefined();
    expect(timeline.append(events.slice(1, 3))).toBeUndefined();
    expect(timeline.append(events.slice(4))).toEqual({ firstMissing: 4, lastMissing: 4 });
    expect(only(timeline, "answer")[0]?.text).toBe("a");
    expect(timeline.append(events.slice(3))).toBeUndefined();
    expect(only(timeline, "answer")[0]?.text).toBe("abc");
  });

  test("a page that does not reach up to the first event is not taken", () => {
    const { events } = new Log().prompt("go").text("a").text("b").text("c");
    const timeline = new Timeline();
    timeline.append(events.slice(4));
    expect(timeline.prepend(events.slice(0, 3))).toEqual({ firstMissing: 4, lastMissing: 4 });
    expect(timeline.firstSeq).toBe(5);
    expect(timeline.prepend(events)).toBeUndefined();
    expect(only(timeline, "answer")[0]?.text).toBe("abc");
  });

  test("what did not change is the same object, and an item on the screen keeps its key", () => {
    const log = new Log().start().prompt("go").text("a").add("toolStarted", { toolId: "x", title: "t" });
    log.add("toolCompleted", { toolId: "x", success: true, durationMs: 1n }).text("b");
    const timeline = folded(log, 4);
    const [partial, tool, last] = timeline.items;
    timeline.append(log.text("c").end().events.slice(-3));
    expect(timeline.items[0]).toBe(partial);
    expect(timeline.items[1]).toBe(tool);
    expect(timeline.items[2]).not.toBe(last);
    expect(timeline.items[2]?.key).toBe(last?.key);
    timeline.prepend(log.events.slice(0, 3));
    expect(timeline.items[1]).toMatchObject({ key: partial?.key, partial: false });
    expect(timeline.items[2]).toBe(tool);
    expect(timeline.items).toBe(timeline.items);
  });

  test("whatever the pages, the items are those of the whole log", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const chance = chanceOf(seed);
      const { events } = randomLog(chance, 20 + whole(chance, 150));
      const timeline = new Timeline();
      let first = whole(chance, events.length);
      let last = first;
      while (first > 0 || last < events.length) {
        if (chance() < 0.5) {
          const next = Math.min(events.length, last + whole(chance, 30));
          expect(timeline.append(events.slice(last, next))).toBeUndefined();
          last = next;
        } else if (last > first) {
          const next = Math.max(0, first - whole(chance, 30));
          expect(timeline.prepend(events.slice(next, first))).toBeUndefined();
          first = next;
        }
        const once = new Timeline();
        once.append(events.slice(first, last));
        expect(seen(timeline.items), `seed ${seed}, events ${first} to ${last}`).toEqual(seen(once.items));
        expect(new Set(timeline.items.map((item) => item.key)).size).toBe(timeline.items.length);
      }
    }
  });
});

describe("much", () => {
  test("one more delta behind 20,000 events makes one item anew", () => {
    const { events } = typicalLog(20_001);
    const timeline = new Timeline();
    timeline.append(events.slice(0, -1));
    const before = timeline.items;
    timeline.append(events.slice(-1));
    const anew = timeline.items.filter((item, place) => item !== before[place]);
    expect(before.length).toBeGreaterThan(1_000);
    expect(anew.length).toBeLessThanOrEqual(1);
  });

  test("a page in front of 20,000 events makes none of theirs anew but the one it completes", () => {
    const { events } = typicalLog(20_200);
    const timeline = new Timeline();
    timeline.append(events.slice(200));
    const before = new Set(timeline.items);
    timeline.prepend(events.slice(0, 200));
    const kept = timeline.items.filter((item) => before.has(item));
    expect(before.size - kept.length).toBeLessThanOrEqual(1);
  });
});
