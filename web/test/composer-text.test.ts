// What the composer reads out of the person's words: mentions, completions, earlier prompts.

import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { CommandSchema } from "../src/generated/portico/v1/events_pb";
import {
  commandAwaitingInput,
  rankCandidates,
  splitByMatch,
  triggerAt,
} from "../src/view/composer/completion-trigger";
import { mentionRanges, fileMentions, mentionsIn, mentionText } from "../src/view/composer/mentions";
import { PromptHistory } from "../src/view/composer/prompt-history";

const commands = [
  create(CommandSchema, { name: "explain", description: "Say what code does", hint: "a file" }),
  create(CommandSchema, { name: "fix", description: "Repair what is broken" }),
  create(CommandSchema, { name: "review-fixes", description: "Look through changes" }),
];
const namesFor = (query: string) => rankCandidates(commands, query).map(({ name }) => name);

describe("mentions", () => {
  test("a mention begins a word", () => {
    expect(mentionsIn("see @a.py and (@b.py) not me@c.py").map(({ path }) => path)).toEqual([
      "a.py",
      "b.py)",
    ]);
  });

  test("what closes a sentence is no part of a file's name", () => {
    const found = fileMentions("see @a.py.", (path) => path === "a.py");
    expect(found).toEqual([{ path: "a.py", start: 4, end: 9 }]);
  });

  test.each(["plain.py", "a name with spaces.md", "ends in a dot."])(
    "%s is found again as it was written",
    (path) => {
      const text = `look at ${mentionText(path)} now`;
      expect(fileMentions(text, (candidate) => candidate === path).map((mention) => mention.path)).toEqual([
        path,
      ]);
    },
  );

  test("taking a file out takes every mention of it, and no more", () => {
    let text = "see @a.py and @ab.py and @a.py, please";
    for (const { start, end } of mentionRanges(text, "a.py")) text = text.slice(0, start) + text.slice(end);
    expect(text).toBe("see and @ab.py and , please");
  });
});

describe("completions", () => {
  test("a slash opens commands only at the very start", () => {
    expect(triggerAt("/ex", 3)).toEqual({ kind: "command", query: "ex", start: 0, end: 3 });
    expect(triggerAt("/ex more", 8)).toBeUndefined();
    expect(triggerAt("go /ex", 6)).toBeUndefined();
    expect(triggerAt("line\n/ex", 8)).toBeUndefined();
  });

  test("an at sign opens files behind whitespace, also in quotes", () => {
    expect(triggerAt("see @sr", 7)).toEqual({ kind: "file", query: "sr", start: 4, end: 7 });
    expect(triggerAt('see @"a na', 10)).toEqual({ kind: "file", query: "a na", start: 4, end: 10 });
    expect(triggerAt("line\n@", 6)).toEqual({ kind: "file", query: "", start: 5, end: 6 });
    expect(triggerAt("me@sr", 5)).toBeUndefined();
    expect(triggerAt("see @sr now", 11)).toBeUndefined();
  });

  test("the caret decides, not the end of the text", () => {
    expect(triggerAt("see @sr and more", 7)).toMatchObject({ query: "sr" });
  });

  test("commands that begin with the letters come before those that have them", () => {
    expect(namesFor("fix")).toEqual(["fix", "review-fixes"]);
    expect(namesFor("E")).toEqual(["explain", "review-fixes"]);
    expect(namesFor("repair")).toEqual(["fix"]);
    expect(namesFor("zzz")).toEqual([]);
    expect(namesFor("")).toHaveLength(3);
  });

  test("a command says what it wants until something is said to it", () => {
    expect(commandAwaitingInput("/explain ", commands)?.hint).toBe("a file");
    expect(commandAwaitingInput("/explain a.py", commands)).toBeUndefined();
    expect(commandAwaitingInput("/fix ", commands)).toBeUndefined();
  });

  test("letters beyond the basic plane count as one", () => {
    expect(splitByMatch("a🦉b", [1])).toEqual([
      { text: "a", bold: false },
      { text: "🦉", bold: true },
      { text: "b", bold: false },
    ]);
  });
});

describe("earlier prompts", () => {
  const history = () => new PromptHistory(() => ["one", "two", "two", "  ", "three"]);

  test("walking back and forth ends at what was put aside", () => {
    const walk = history();
    expect(walk.older(" ")).toBe("three");
    expect(walk.older("three")).toBe("two");
    expect(walk.older("two")).toBe("one");
    expect(walk.older("one")).toBeUndefined();
    expect(walk.newer("one")).toBe("two");
    expect(walk.newer("two")).toBe("three");
    expect(walk.newer("three")).toBe(" ");
    expect(walk.newer(" ")).toBeUndefined();
  });

  test("a prompt that was changed is the person's own", () => {
    const walk = history();
    walk.older("");
    expect(walk.isShowing("three!")).toBe(false);
    expect(walk.newer("three!")).toBeUndefined();
    expect(walk.leave("three!")).toBeUndefined();
  });

  test("leaving brings back what was put aside", () => {
    const walk = history();
    walk.older("");
    walk.older("three");
    expect(walk.leave("two")).toBe("");
    expect(walk.older("")).toBe("three");
  });

  test("older prompts that are loaded later follow", () => {
    const prompts = ["two"];
    const walk = new PromptHistory(() => prompts);
    walk.older("");
    expect(walk.atOldest).toBe(true);
    prompts.unshift("one");
    expect(walk.older("two")).toBe("one");
  });
});
