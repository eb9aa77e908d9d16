// A prompt on its way out, and the menu at the caret: through the session and its answers, without a page.

import { create } from "@bufbuild/protobuf";
import { signal } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Gateway } from "../src/gateway/gateway";
import { KeptPromptSchema, type KeptPrompt } from "../src/generated/portico/v1/agent_pb";
import { CommandSchema } from "../src/generated/portico/v1/events_pb";
import type { Connection, Outgoing, SessionModel } from "../src/model/types";
import { Completer } from "../src/view/composer/completer";
import { Composition, compositionOf } from "../src/view/composer/composition";

class FakeSession {
  readonly id = "s1";
  readonly draft = signal("");
  readonly items = signal([]);
  readonly detail = signal(undefined);
  readonly connection = signal<Connection>({ state: "live" });
  readonly sent: Outgoing[] = [];
  arrives = true;

  send(outgoing: Outgoing): Promise<boolean> {
    this.sent.push(outgoing);
    if (this.arrives)
      this.draft.value = this.draft.peek().trimStart().slice(outgoing.text.trim().length).trimStart();
    return Promise.resolve(this.arrives);
  }
}

function make(): { session: FakeSession; composition: Composition; remembered: Map<string, unknown> } {
  const remembered = new Map<string, unknown>();
  const session = new FakeSession();
  const gateway = {
    memory: {
      get: (key: string) => remembered.get(key),
      set: (key: string, value: unknown) => remembered.set(key, value),
    },
    client: { getSession: () => Promise.resolve({ session: { promptCapabilities: { image: false } } }) },
  } as unknown as Gateway;
  return { session, remembered, composition: compositionOf(session as unknown as SessionModel, gateway) };
}

const away: Connection = { state: "reconnecting", since: 0, attempt: 1 };

describe("sending", () => {
  test("nothing is not sent", async () => {
    const { session, composition } = make();
    session.draft.value = " \n";
    await composition.send();
    expect(session.sent).toEqual([]);
  });

  test("files go along once, and stay if the prompt does not arrive", async () => {
    const { session, composition, remembered } = make();
    await composition.attach([new File(["hello"], "a.txt", { type: "text/plain" })]);
    session.draft.value = "look";
    session.arrives = false;
    await composition.send();
    expect(composition.attachments.value).toHaveLength(1);
    session.arrives = true;
    await composition.send();
    expect(session.sent[1]).toEqual({
      text: "look",
      attachments: [{ name: "a.txt", mimeType: "text/plain", data: new TextEncoder().encode("hello") }],
    });
    expect(composition.attachments.value).toEqual([]);
    expect(remembered.get("sends")).toBe(1);
  });

  test("a prompt waits for the connection, and what is typed behind it stays", async () => {
    const { session, composition } = make();
    session.connection.value = away;
    session.draft.value = "do this";
    await composition.send();
    expect(composition.waiting.value?.text).toBe("do this");
    expect(session.sent).toEqual([]);
    session.draft.value = "do this and that";
    session.connection.value = { state: "live" };
    await vi.waitFor(() => expect(composition.sending.value).toBe(false));
    expect(session.sent.map(({ text }) => text)).toEqual(["do this"]);
    expect(session.draft.value).toBe("and that");
    session.connection.value = away;
    session.connection.value = { state: "live" };
    expect(session.sent).toHaveLength(1);
  });

  test("words that are changed while they wait are not sent", async () => {
    const { session, composition } = make();
    session.connection.value = away;
    session.draft.value = "delete everything";
    await composition.send();
    session.draft.value = "delete nothing";
    expect(composition.waiting.value).toBeUndefined();
    session.connection.value = { state: "live" };
    expect(session.sent).toEqual([]);
  });

  test("a prompt that waits can be taken back", async () => {
    const { session, composition } = make();
    session.connection.value = away;
    session.draft.value = "do this";
    await composition.send();
    composition.withdraw();
    session.connection.value = { state: "live" };
    expect(session.sent).toEqual([]);
    expect(session.draft.value).toBe("do this");
  });

  test("a file that is too large is not taken, and the others are", async () => {
    const { composition } = make();
    const large = new File([new Uint8Array(10 * 1024 * 1024 + 1)], "large.bin");
    await composition.attach([large, new File(["x"], "small.txt")]);
    expect(composition.attachments.value.map(({ name }) => name)).toEqual(["small.txt"]);
    expect(composition.attachmentError.value).toMatch(/^large\.bin is/);
  });

  test("an agent that takes no images is asked before that is said of it", async () => {
    const { composition } = make();
    expect(composition.takesImages.value).toBeUndefined();
    await composition.attach([new File(["x"], "a.png", { type: "image/png" })]);
    expect(composition.takesImages.value).toBe(false);
  });
});

describe("the menu at the caret", () => {
  const inserted: [number, number, string][] = [];
  const searches = new Map<string, (paths: string[]) => void>();
  const commands = [create(CommandSchema, { name: "explain" }), create(CommandSchema, { name: "fix" })];
  const used: string[] = [];
  let tellPrompts: (prompts: KeptPrompt[]) => void;
  let completer: Completer;
  const type = (text: string): void => completer.look(text, text.length);
  const answer = async (query: string, ...paths: string[]): Promise<void> => {
    searches.get(query)?.(paths);
    await Promise.resolve();
    await Promise.resolve();
  };
  const shown = (): string[] | undefined => completer.menu.value?.completions.map(({ name }) => name);

  beforeEach(() => {
    vi.useFakeTimers();
    inserted.length = 0;
    used.length = 0;
    searches.clear();
    completer = new Completer({
      commands: () => commands,
      findFiles: (query) =>
        new Promise((resolve) =>
          searches.set(query, (paths) => resolve(paths.map((path) => ({ path, matched: [] })))),
        ),
      insert: (...edit) => inserted.push(edit),
      picked: () => undefined,
      listPrompts: () => new Promise((resolve) => (tellPrompts = resolve)),
      usePrompt: (name) => used.push(name),
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("files are asked for once the letters stop coming", () => {
    type("@a");
    vi.advanceTimersByTime(30);
    type("@ap");
    vi.advanceTimersByTime(60);
    expect([...searches.keys()]).toEqual(["ap"]);
  });

  test("an answer that comes too late is dropped", async () => {
    type("@a");
    vi.advanceTimersByTime(60);
    type("@ab");
    vi.advanceTimersByTime(60);
    await answer("ab", "ab.py");
    await answer("a", "a.py");
    expect(shown()).toEqual(["ab.py"]);
  });

  test("Enter waits for the answer to what was typed, and takes it", async () => {
    type("see @ab");
    expect(completer.takesKey("Enter")).toBe(true);
    vi.advanceTimersByTime(60);
    await answer("ab", "ab c.py");
    expect(inserted).toEqual([[4, 7, '@"ab c.py" ']]);
    expect(completer.menu.value).toBeUndefined();
  });

  test("Enter is for sending if no file fits", async () => {
    type("@zz");
    vi.advanceTimersByTime(60);
    await answer("zz");
    expect(completer.takesKey("Enter")).toBe(false);
  });

  test("Enter sends a command that is complete; Tab goes on with it", () => {
    type("/fix");
    expect(completer.takesKey("Enter")).toBe(false);
    type("/fi");
    type("/fix");
    expect(completer.takesKey("Tab")).toBe(true);
    expect(inserted).toEqual([[0, 4, "/fix "]]);
  });

  const answerPrompts = async (...names: string[]): Promise<void> => {
    tellPrompts(names.map((name) => create(KeptPromptSchema, { name })));
    await Promise.resolve();
    await Promise.resolve();
  };

  test("prompts are offered among the commands, and move nothing away from under the person", async () => {
    type("/");
    expect(completer.takesKey("ArrowDown")).toBe(true);
    await answerPrompts("fix-all", "team/explain");
    expect(shown()).toEqual(["explain", "fix", "fix-all", "team/explain"]);
    expect(completer.menu.value?.chosen).toBe(1);
    type("/expl");
    expect(shown()).toEqual(["explain", "team/explain"]);
  });

  test("a prompt is used, not sent by its name", async () => {
    type("/fix-all");
    expect(completer.menu.value).toBeUndefined();
    await answerPrompts("fix-all");
    expect(completer.takesKey("Enter")).toBe(true);
    expect([used, inserted]).toEqual([["fix-all"], []]);
  });

  test("prompts that come when nobody waits for them any more open no menu", async () => {
    type("/");
    type("");
    await answerPrompts("fix-all");
    expect(completer.menu.value).toBeUndefined();
  });

  test("a menu that was closed stays closed for the word", () => {
    type("/e");
    expect(completer.takesKey("Escape")).toBe(true);
    type("/ex");
    expect(shown()).toBeUndefined();
    type("");
    type("/e");
    expect(shown()).toEqual(["explain"]);
  });

  test("the arrows go through the offers", () => {
    type("/");
    completer.takesKey("ArrowUp");
    expect(completer.menu.value?.chosen).toBe(1);
    completer.takesKey("Enter");
    expect(inserted).toEqual([[0, 1, "/fix "]]);
  });
});
