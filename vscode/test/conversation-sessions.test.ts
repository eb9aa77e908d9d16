import { expect, test } from "vitest";
import {
  withHistory,
  splitPrompt,
  ConversationSessions,
  type ChatMessage,
} from "../src/models/conversation-sessions";

const person = (text: string): ChatMessage => ({ isAgent: false, text });
const agent = (text: string): ChatMessage => ({ isAgent: true, text });

test("a conversation goes on in the session that has heard all of it", () => {
  const talks = new ConversationSessions();
  const first = [person("Hello"), agent("Who is there?")];
  talks.keep("porter", first, "one");
  const { before, prompt } = splitPrompt([...first, person("It is me."), person("Open.")]);
  expect(prompt).toBe("It is me.\n\nOpen.");
  expect(talks.find("porter", before)).toBe("one");
  expect(talks.find("other", before)).toBeUndefined();
  expect(talks.find("porter", [person("Hello"), agent("Go away.")])).toBeUndefined();
});

test("a conversation begins anew, however often the same words begin one", () => {
  const talks = new ConversationSessions();
  talks.keep("porter", [person("Hello"), agent("Yes?")], "one");
  expect(talks.find("porter", splitPrompt([person("Hello")]).before)).toBeUndefined();
});

test("an agent that has heard nothing is told what was said", () => {
  expect(withHistory([], "Go on")).toBe("Go on");
  const words = withHistory([person("Paint it."), agent("Red?")], "Blue.");
  expect(words).toContain("I said:\nPaint it.");
  expect(words).toContain("You said:\nRed?");
  expect(words.endsWith("Now:\n\nBlue.")).toBe(true);
});

test("old conversations are forgotten, not new ones", () => {
  const talks = new ConversationSessions();
  for (let number = 0; number < 150; number++)
    talks.keep("porter", [agent(`${number}`)], `session ${number}`);
  expect(talks.find("porter", [agent("0")])).toBeUndefined();
  expect(talks.find("porter", [agent("149")])).toBe("session 149");
});
