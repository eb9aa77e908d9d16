import { expect, test } from "vitest";
import { retold, split, Talks, type Said } from "../src/models/talks";

const person = (text: string): Said => ({ isAgent: false, text });
const agent = (text: string): Said => ({ isAgent: true, text });

test("a conversation goes on in the session that has heard all of it", () => {
  const talks = new Talks();
  const first = [person("Hello"), agent("Who is there?")];
  talks.keep("porter", first, "one");
  const { before, prompt } = split([...first, person("It is me."), person("Open.")]);
  expect(prompt).toBe("It is me.\n\nOpen.");
  expect(talks.find("porter", before)).toBe("one");
  expect(talks.find("other", before)).toBeUndefined();
  expect(talks.find("porter", [person("Hello"), agent("Go away.")])).toBeUndefined();
});

test("a conversation begins anew, however often the same words begin one", () => {
  const talks = new Talks();
  talks.keep("porter", [person("Hello"), agent("Yes?")], "one");
  expect(talks.find("porter", split([person("Hello")]).before)).toBeUndefined();
});

test("an agent that has heard nothing is told what was said", () => {
  expect(retold([], "Go on")).toBe("Go on");
  const words = retold([person("Paint it."), agent("Red?")], "Blue.");
  expect(words).toContain("I said:\nPaint it.");
  expect(words).toContain("You said:\nRed?");
  expect(words.endsWith("Now:\n\nBlue.")).toBe(true);
});

test("old conversations are forgotten, not new ones", () => {
  const talks = new Talks();
  for (let number = 0; number < 150; number++)
    talks.keep("porter", [agent(`${number}`)], `session ${number}`);
  expect(talks.find("porter", [agent("0")])).toBeUndefined();
  expect(talks.find("porter", [agent("149")])).toBe("session 149");
});
