// The person's own words: at the server within 300 ms of the last key, and never lost on the way.

import { describe, expect, test } from "vitest";
import { createSessionModel } from "../src/model/session";
import type { SessionModel } from "../src/model/types";
import { createTestDraftStore, MemoryServer } from "./memory-server";
import { quiet, TestEnvironment, until } from "./test-environment";

class Page {
  readonly environment = new TestEnvironment();
  readonly session: SessionModel;

  constructor(
    readonly server = new MemoryServer(),
    readonly draftStore = createTestDraftStore(),
    clientId = "page-1",
  ) {
    this.session = createSessionModel(server.gateway(draftStore, clientId), "s1", {
      environment: this.environment,
    });
  }

  async live(): Promise<this> {
    await until(this.environment, "it is live", () => this.session.connection.value.state === "live");
    return this;
  }

  type(text: string): void {
    this.session.draft.value = text;
  }

  get draft(): string {
    return this.session.draft.value;
  }
}

const outgoing = (text: string): Parameters<SessionModel["send"]>[0] => ({ text, attachments: [] });

/** The store as it is now. */
function copyOf(store: ReturnType<typeof createTestDraftStore>): ReturnType<typeof createTestDraftStore> {
  const copy = createTestDraftStore();
  for (const [key, words] of store.words) copy.set(key, words);
  return copy;
}

describe("saving", () => {
  test("a pause after the last key saves the draft, once, within 300 ms", async () => {
    const page = await new Page().live();
    page.type("h");
    await page.environment.pass(190);
    page.type("he");
    await page.environment.pass(190);
    expect(page.server.submitted).toEqual([]);
    await page.environment.pass(20);
    expect(page.server.desk).toMatchObject({ draft: "he", clientId: "page-1" });
    expect(page.server.submitted).toHaveLength(1);
  });

  test("a person who never pauses is saved every second", async () => {
    const page = await new Page().live();
    for (let key = 1; key <= 30; key++) {
      page.type("x".repeat(key));
      await page.environment.pass(100);
    }
    expect(page.server.desk.draft.length).toBeGreaterThanOrEqual(20);
    expect(page.server.submitted.length).toBeLessThanOrEqual(3);
  });

  test("whoever leaves the page is saved at once", async () => {
    const page = await new Page().live();
    page.type("in a hurry");
    page.environment.leave();
    await quiet();
    expect(page.server.desk.draft).toBe("in a hurry");
  });

  test("leaving does not wait for a save that is under way", async () => {
    const page = await new Page().live();
    const release = page.server.hold("submitClientEvent");
    page.type("first");
    await page.environment.pass(300);
    page.type("first and second");
    page.environment.leave();
    await quiet();
    expect(page.server.called("submitClientEvent")).toBe(2);
    release();
    await quiet();
    expect(page.server.desk.draft).toBe("first and second");
    expect(page.draftStore.words.size).toBe(0);
  });

  test("after a save that did not wait, the next one does", async () => {
    const page = await new Page().live();
    const first = page.server.hold("submitClientEvent", { once: true });
    page.type("a");
    await page.environment.pass(300);
    const second = page.server.hold("submitClientEvent", { once: true });
    page.type("ab");
    page.environment.leave();
    await quiet();
    first();
    await quiet();
    page.type("abc");
    await page.environment.pass(2_000);
    expect(page.server.called("submitClientEvent")).toBe(2);
    second();
    await page.environment.pass(2_000);
    expect(page.server.desk.draft).toBe("abc");
  });

  test("saves do not overtake each other", async () => {
    const page = await new Page().live();
    const release = page.server.hold("submitClientEvent");
    page.type("a");
    await page.environment.pass(300);
    page.type("ab");
    await page.environment.pass(2_000);
    expect(page.server.called("submitClientEvent")).toBe(1);
    release();
    await quiet();
    expect(page.server.desk.draft).toBe("ab");
    expect(page.draft).toBe("ab");
  });

  test("a draft that the server does not take is told once, and kept here", async () => {
    const page = await new Page().live();
    page.type("x".repeat(2_000));
    await page.environment.pass(30_000);
    expect(page.session.failure.value).toMatchObject({ code: "INVALID_INPUT", message: "That is too long." });
    expect(page.server.called("submitClientEvent")).toBe(1);
    expect(page.draftStore.get("draft s1")).toHaveLength(2_000);
  });

  test("a draft that the server has is in no other place", async () => {
    const page = await new Page().live();
    page.type("hello");
    expect([...page.draftStore.words.values()]).toContain("hello");
    await page.environment.pass(300);
    expect(page.draftStore.words.size).toBe(0);
  });
});

describe("a server that is away", () => {
  test("words typed meanwhile reach it when it is back", async () => {
    const page = await new Page().live();
    page.server.kill();
    page.type("written offline");
    await page.environment.pass(30_000);
    expect(page.draft).toBe("written offline");
    page.server.start();
    await until(page.environment, "it is saved", () => page.server.desk.draft === "written offline");
    expect(page.session.failure.value).toBeUndefined();
  });

  test("words typed meanwhile outlive a reload", async () => {
    const before = await new Page().live();
    before.type("saved");
    await before.environment.pass(300);
    before.server.kill();
    before.type("saved, and more");
    const after = new Page(before.server, before.draftStore, "page-2");
    expect(after.draft).toBe("saved, and more");
    before.server.start();
    await until(after.environment, "it is saved", () => after.server.desk.draft === "saved, and more");
    expect(after.draft).toBe("saved, and more");
    expect(after.draftStore.words.size).toBe(0);
  });

  test("words that replaced others outlive a reload, and the others do not come back", async () => {
    const before = await new Page().live();
    before.type("saved");
    await before.environment.pass(300);
    before.server.kill();
    before.type("something else");
    before.session.dispose();
    const after = new Page(before.server, before.draftStore, "page-2");
    before.server.start();
    await until(after.environment, "it is saved", () => after.server.desk.draft === "something else");
    expect([after.draft, after.session.draftConflict.value]).toEqual(["something else", undefined]);
  });

  test.each([
    ["", "half a sentence", undefined],
    ["half", "half a sentence", undefined],
    ["a prompt that was sent", "a prompt that was sent", "half a sentence"],
  ])("an old copy of the draft, %j, does not replace what was saved after it", async (old, shown, aside) => {
    const before = await new Page().live();
    before.type("before");
    before.type(old);
    const copy = copyOf(before.draftStore);
    await before.environment.pass(300);
    before.type("half a sentence");
    await before.environment.pass(300);
    before.session.dispose();
    const after = await new Page(before.server, copy, "page-2").live();
    await after.environment.pass(2_000);
    expect([after.draft, after.session.draftConflict.value]).toEqual([shown, aside]);
    expect(after.server.desk.draft).toBe(shown);
  });

  test.each([
    ["half a sentence", "half a sentence"],
    ["", ""],
  ])("an old copy of a prompt that was sent does not come back, the draft being %j", async (later, shown) => {
    const before = await new Page().live();
    before.type("hello");
    const copy = copyOf(before.draftStore);
    await before.environment.pass(300);
    expect(await before.session.send(outgoing("hello"))).toBe(true);
    before.type(later);
    await before.environment.pass(300);
    before.session.dispose();
    const after = await new Page(before.server, copy, "page-2").live();
    await after.environment.pass(2_000);
    expect([after.draft, after.session.draftConflict.value]).toEqual([shown, undefined]);
    expect([after.server.desk.draft, after.draftStore.words.size]).toEqual([shown, 0]);
  });

  test.each(["before", "after"])(
    "a copy of any moment does not replace the draft, with a prompt typed %s its session was loaded",
    async (moment) => {
      const store = createTestDraftStore();
      const copies = [copyOf(store)];
      const recording = {
        ...store,
        set: (key: string, words: string | undefined): void => {
          store.set(key, words);
          copies.push(copyOf(store));
        },
      };
      const before = new Page(new MemoryServer(), recording);
      if (moment === "after") await before.live();
      before.type("hello");
      let early = Infinity;
      const sent = new Promise<boolean>((resolve) => {
        before.session.connection.subscribe(({ state }) => {
          if (state !== "live" || early < Infinity) return;
          early = copies.length;
          resolve(before.session.send(outgoing("hello")));
        });
      });
      await before.live();
      expect(await sent).toBe(true);
      before.type("half a");
      before.type("half a sentence");
      await before.environment.pass(300);
      before.session.dispose();
      expect(copies.length).toBeGreaterThan(5);
      for (const [number, copy] of copies.entries()) {
        // Nothing was known of the session yet, so this may be meant to be said once more.
        const isOfUnknownTime = number < early && copy.words.size === 1 && copy.words.has("draft s1");
        const after = await new Page(before.server, copy, "page-2").live();
        await after.environment.pass(2_000);
        after.session.dispose();
        const shown = [after.draft, after.session.draftConflict.value];
        if (isOfUnknownTime) expect(shown).toEqual(["hello", "half a sentence"]);
        else expect(shown).toEqual(["half a sentence", undefined]);
        await new Page(before.server, undefined, "page-3").live().then(async (page) => {
          page.type("half a sentence");
          await page.environment.pass(300);
          page.session.dispose();
        });
      }
    },
  );

  test("a page that is left while its prompt is on its way saves no draft behind it", async () => {
    const before = await new Page().live();
    before.type("hello");
    const release = before.server.hold("submitPrompt's answer");
    const sent = before.session.send(outgoing("hello"));
    await quiet();
    before.environment.leave();
    await quiet();
    expect(before.server.desk.draft).toBe("");
    release();
    expect(await sent).toBe(true);
  });

  test("an old copy at the server goes with the one here", async () => {
    const before = await new Page().live();
    before.type("hello");
    const copy = copyOf(before.draftStore);
    expect(await before.session.send(outgoing("hello"))).toBe(true);
    before.session.dispose();
    const late = await new Page(before.server, undefined, "page-2").live();
    late.type("hello");
    await late.environment.pass(300);
    late.session.dispose();
    const after = await new Page(before.server, copy, "page-3").live();
    await after.environment.pass(2_000);
    expect([after.draft, after.server.desk.draft]).toEqual(["", ""]);
  });

  test("a prompt is known to be sent until its draft is gone", async () => {
    const store = createTestDraftStore();
    const states: boolean[] = [];
    const recording = {
      ...store,
      set: (key: string, words: string | undefined): void => {
        store.set(key, words);
        states.push(store.words.has("sent s1") || store.get("draft s1") !== "hello");
      },
    };
    const page = await new Page(new MemoryServer(), recording).live();
    page.type("hello");
    states.length = 0;
    expect(await page.session.send(outgoing("hello"))).toBe(true);
    expect(states.length).toBeGreaterThan(2);
    expect(states).not.toContain(false);
  });

  test("words that were sent before are kept when they are typed again", async () => {
    const before = await new Page().live();
    expect(await before.session.send(outgoing("hello"))).toBe(true);
    await before.environment.pass(300);
    before.server.kill();
    before.type("hello");
    before.session.dispose();
    const after = new Page(before.server, before.draftStore, "page-2");
    before.server.start();
    await until(after.environment, "it is saved", () => after.server.desk.draft === "hello");
    expect(after.draft).toBe("hello");
  });

  test("a reload shows the draft that the server has", async () => {
    const server = new MemoryServer();
    server.writeDraft("from yesterday", "page-0");
    const page = await new Page(server).live();
    expect(page.draft).toBe("from yesterday");
    expect(server.submitted).toEqual([]);
  });

  test("what is typed before the old draft has come is put behind it", async () => {
    const server = new MemoryServer();
    server.writeDraft("from yesterday", "page-0");
    const page = new Page(server);
    page.type("quick");
    await page.live();
    await page.environment.pass(300);
    expect(page.draft).toBe("from yesterday\nquick");
    expect(server.desk.draft).toBe("from yesterday\nquick");
  });
});

describe("another door", () => {
  test("its draft is shown if nothing is being typed here", async () => {
    const page = await new Page().live();
    page.server.writeDraft("from the editor", "door-2");
    await until(page.environment, "it is shown", () => page.draft === "from the editor");
    await page.environment.pass(5_000);
    expect(page.server.submitted).toEqual([]);
  });

  test("its draft waits while the person types, and loses if they go on", async () => {
    const page = await new Page().live();
    page.type("mine");
    await page.environment.pass(300);
    page.server.writeDraft("theirs", "door-2");
    await page.environment.pass(500);
    expect(page.draft).toBe("mine");
    page.type("mine still");
    await page.environment.pass(3_000);
    expect(page.draft).toBe("mine still");
    expect(page.server.desk.draft).toBe("mine still");
  });

  test("its draft is set aside if it comes while the person types, and theirs stays when they stop", async () => {
    const page = await new Page().live();
    page.type("mine");
    await page.environment.pass(300);
    page.server.writeDraft("theirs", "door-2");
    await page.environment.pass(10_000);
    expect(page.draft).toBe("mine");
    expect(page.session.draftConflict.value).toBe("theirs");
    page.server.writeDraft("theirs, longer", "door-2");
    await page.environment.pass(10_000);
    expect(page.draft).toBe("mine");
    expect(page.session.draftConflict.value).toBe("theirs, longer");
    expect(page.server.submitted).toHaveLength(1);
  });

  test("its draft is shown if it goes on from what was typed here a moment ago", async () => {
    const page = await new Page().live();
    page.type("mine");
    await page.environment.pass(300);
    page.server.writeDraft("mine and more", "door-2");
    await page.environment.pass(2_000);
    expect(page.draft).toBe("mine and more");
    expect(page.session.draftConflict.value).toBeUndefined();
  });

  test("when it has sent its words, those that were typed here are the draft again", async () => {
    const page = await new Page().live();
    page.type("mine");
    await page.environment.pass(300);
    page.server.writeDraft("theirs", "door-2");
    await page.environment.pass(2_000);
    page.server.writeDraft("", "door-2");
    await page.environment.pass(2_000);
    expect(page.draft).toBe("mine");
    expect(page.server.desk.draft).toBe("mine");
    expect(page.session.draftConflict.value).toBeUndefined();
    expect(page.draftStore.words.size).toBe(0);
  });

  test("both versions of a draft outlive a reload", async () => {
    const before = await new Page().live();
    before.type("mine");
    await before.environment.pass(300);
    before.server.writeDraft("theirs", "door-2");
    await before.environment.pass(2_000);
    before.session.dispose();
    const after = await new Page(before.server, before.draftStore, "page-2").live();
    await after.environment.pass(2_000);
    expect(after.draft).toBe("mine");
    expect(after.session.draftConflict.value).toBe("theirs");
    expect(after.server.desk.draft).toBe("mine");
  });

  test("two pages that write at the same time lose nothing, and do not fight", async () => {
    const server = new MemoryServer();
    const one = await new Page(server, createTestDraftStore(), "one").live();
    const two = await new Page(server, createTestDraftStore(), "two").live();
    for (const end of [" a", " ab", " abc"]) {
      one.type(`first${end}`);
      two.type(`second${end}`);
      for (const each of [one, two]) await each.environment.pass(250);
    }
    for (const each of [one, two, one, two]) await each.environment.pass(10_000);
    expect([one.draft, two.draft]).toEqual(["first abc", "second abc"]);
    expect(one.session.draftConflict.value).toBe("second abc");
    expect(two.session.draftConflict.value).toBe("first abc");
    const saves = server.submitted.length;
    for (const each of [one, two, one, two]) await each.environment.pass(10_000);
    expect(server.submitted).toHaveLength(saves);
  });

  test("what was set aside goes when the person has its words", async () => {
    const page = await new Page().live();
    page.type("mine");
    page.server.writeDraft("theirs", "door-2");
    await page.environment.pass(300);
    expect(page.session.draftConflict.value).toBe("theirs");
    page.type("mine and theirs");
    expect(page.session.draftConflict.value).toBeUndefined();
  });

  test("its draft does not replace words that the server does not have yet", async () => {
    const page = await new Page().live();
    const release = page.server.hold("submitClientEvent");
    page.type("mine");
    await page.environment.pass(300);
    page.server.writeDraft("theirs", "door-2");
    await page.environment.pass(10_000);
    expect(page.draft).toBe("mine");
    release();
    await page.environment.pass(10_000);
    expect(page.draft).toBe("mine");
    expect(page.server.desk.draft).toBe("mine");
  });

  test("its draft is set aside if it came after ours, even before we know that ours was saved", async () => {
    const page = await new Page().live();
    const release = page.server.hold("submitClientEvent's answer");
    page.type("mine");
    await page.environment.pass(300);
    page.server.writeDraft("theirs", "door-2");
    await page.environment.pass(300);
    release();
    await page.environment.pass(3_000);
    expect(page.draft).toBe("mine");
    expect(page.session.draftConflict.value).toBe("theirs");
    expect([...page.draftStore.words.values()]).toContain("mine");
  });

  test("its draft is set aside if it comes right after ours, however long ours was on its way", async () => {
    const page = await new Page().live();
    const release = page.server.hold("submitClientEvent");
    page.type("mine");
    await page.environment.pass(5_000);
    release();
    await page.environment.pass(300);
    expect(page.server.desk.draft).toBe("mine");
    page.server.writeDraft("theirs", "door-2");
    await page.environment.pass(10_000);
    expect(page.draft).toBe("mine");
    expect(page.session.draftConflict.value).toBe("theirs");
  });

  test("two pages that take turns always show the same", async () => {
    const server = new MemoryServer();
    const one = await new Page(server, createTestDraftStore(), "one").live();
    const two = await new Page(server, createTestDraftStore(), "two").live();
    for (const [place, page] of [one, two, two, one, two].entries()) {
      page.type(`turn ${place}`);
      for (const each of [one, two, one]) await each.environment.pass(2_000);
      expect([one.draft, two.draft]).toEqual([`turn ${place}`, `turn ${place}`]);
    }
  });
});

describe("sending", () => {
  test("the draft goes when the server has the prompt, and not before", async () => {
    const page = await new Page().live();
    page.type("hello");
    const release = page.server.hold("submitPrompt");
    const sent = page.session.send(outgoing("hello"));
    await page.environment.pass(1_000);
    expect(page.draft).toBe("hello");
    release();
    expect(await sent).toBe(true);
    expect(page.draft).toBe("");
    await until(page.environment, "it is in the timeline", () => page.session.items.value.length === 1);
    expect(page.server.desk.draft).toBe("");
  });

  test("a prompt that is refused leaves the draft and says why", async () => {
    const page = await new Page().live();
    page.type("refuse");
    expect(await page.session.send(outgoing("refuse"))).toBe(false);
    expect(page.draft).toBe("refuse");
    expect(page.session.failure.value).toMatchObject({
      code: "AGENT_NOT_FOUND",
      message: "The agent is not installed.",
    });
  });

  test("a prompt that is refused after a while is saved as a draft", async () => {
    const page = await new Page().live();
    page.type("refuse");
    const release = page.server.hold("submitPrompt");
    const sent = page.session.send(outgoing("refuse"));
    await page.environment.pass(500);
    expect(page.server.desk.draft).toBe("");
    release();
    expect(await sent).toBe(false);
    await quiet();
    expect(page.server.desk.draft).toBe("refuse");
  });

  test("a prompt sent while a turn runs is queued", async () => {
    const page = await new Page().live();
    page.server.busy = true;
    page.type("next");
    expect(await page.session.send(outgoing("next"))).toBe(true);
    await until(page.environment, "it is in the queue", () => page.session.drafts.value?.queue.length === 1);
    expect(page.draft).toBe("");
  });

  test("what is typed behind a prompt on its way stays", async () => {
    const page = await new Page().live();
    page.type("hello");
    const release = page.server.hold("submitPrompt");
    const sent = page.session.send(outgoing("hello"));
    page.type("hello\nand another thing");
    release();
    await sent;
    expect(page.draft).toBe("and another thing");
  });

  test("a prompt that is not the draft does not take it away", async () => {
    const page = await new Page().live();
    page.type("half a thought");
    await page.session.send(outgoing("Go on."));
    expect(page.draft).toBe("half a thought");
  });

  test("a prompt whose answer was lost is not asked for twice", async () => {
    const page = await new Page().live();
    page.type("hello");
    const release = page.server.hold("submitPrompt's answer");
    const sent = page.session.send(outgoing("hello"));
    await quiet();
    page.server.kill();
    release();
    expect(await sent).toBe(false);
    expect(page.draft).toBe("hello");
    expect(page.session.failure.value).toMatchObject({ code: "UNREACHABLE" });
    page.server.start();
    await until(page.environment, "it is seen in the log", () => page.draft === "");
    expect(page.session.failure.value).toBeUndefined();
  });

  test.each([
    ["log", "saved", false],
    ["log", "not saved", false],
    ["queue", "saved", true],
  ])(
    "a prompt whose page went before it was answered is found in the %s, its draft %s",
    async (_, draft, busy) => {
      const before = await new Page().live();
      before.server.busy = busy;
      before.type("hello");
      if (draft === "saved")
        await until(before.environment, "the draft is kept", () => before.server.desk.draft === "hello");
      before.server.hold("submitPrompt's answer");
      void before.session.send(outgoing("hello"));
      await quiet();
      const after = await new Page(before.server, before.draftStore, "page-2").live();
      await until(
        after.environment,
        "it is a draft no more",
        () => after.draft === "" && before.server.desk.draft === "",
      );
      expect(after.draftStore.words.size).toBe(0);
    },
  );

  test("a prompt that never arrived is still a draft on the next page", async () => {
    const before = await new Page().live();
    before.type("hello");
    before.server.hold("submitPrompt");
    void before.session.send(outgoing("hello"));
    await quiet();
    const after = await new Page(before.server, before.draftStore, "page-2").live();
    await after.environment.pass(10_000);
    expect(after.draft).toBe("hello");
  });

  test("a queued prompt whose answer was lost is found in the queue", async () => {
    const page = await new Page().live();
    page.server.busy = true;
    page.type("hello");
    const release = page.server.hold("submitPrompt's answer");
    const sent = page.session.send(outgoing("hello"));
    await quiet();
    page.server.kill();
    release();
    expect(await sent).toBe(false);
    page.server.start();
    await until(page.environment, "it is seen in the queue", () => page.draft === "");
  });

  test("a lost prompt is not mistaken for the same words in the queue from before", async () => {
    const page = await new Page().live();
    page.server.busy = true;
    await page.session.send(outgoing("hello"));
    await until(page.environment, "it is queued", () => page.session.drafts.value?.queue.length === 1);
    page.server.kill();
    page.type("hello");
    expect(await page.session.send(outgoing("hello"))).toBe(false);
    page.server.start();
    await page.environment.pass(10_000);
    expect(page.draft).toBe("hello");
  });

  test("a lost prompt is not mistaken for the same words in the log from before", async () => {
    const page = await new Page().live();
    await page.session.send(outgoing("hello"));
    await until(page.environment, "it is in the log", () => page.session.items.value.length === 1);
    page.server.kill();
    page.type("hello");
    expect(await page.session.send(outgoing("hello"))).toBe(false);
    page.server.log.text("a").text("b").text("c");
    page.server.mangle = (events) => events.slice(1);
    page.server.start();
    await page.environment.pass(10_000);
    expect(page.server.called("getTimeline")).toBeGreaterThan(1);
    expect(page.draft).toBe("hello");
  });

  test("a prompt that was refused is not mistaken for the same words of another door", async () => {
    const page = await new Page().live();
    page.type("refuse");
    await page.session.send(outgoing("refuse"));
    page.server.write((log) => log.prompt("refuse"));
    await page.environment.pass(2_000);
    expect(page.session.items.value).toHaveLength(1);
    expect(page.draft).toBe("refuse");
  });

  test("a lost prompt is found although thousands of events were missed", async () => {
    const page = await new Page().live();
    page.type("hello");
    const release = page.server.hold("submitPrompt's answer");
    const sent = page.session.send(outgoing("hello"));
    await quiet();
    page.server.kill();
    release();
    await sent;
    while (page.server.log.lastSeq < 2_500) page.server.log.add("usageUpdated", {});
    page.server.log.end().prompt("hello").end();
    page.server.start();
    await page.environment.pass(10_000);
    expect(page.draft).toBe("");
  });

  test("the last prompt can be sent again, wherever it stands", async () => {
    const server = new MemoryServer();
    server.log.prompt("go");
    for (let delta = 0; delta < 300; delta++) server.log.text("word ");
    server.log.end();
    const page = await new Page(server).live();
    page.type("something else");
    await page.session.retry();
    expect(server.log.events.at(-2)?.payload).toMatchObject({
      case: "promptSubmitted",
      value: { text: "go" },
    });
    expect(page.draft).toBe("something else");
  });
});
