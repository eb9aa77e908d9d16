// An open session as its tab shows it, over a server that comes and goes.

import { effect } from "@preact/signals";
import { describe, expect, test } from "vitest";
import { PermissionScope, TurnState } from "../src/generated/portico/v1/events_pb";
import { createSessionModel } from "../src/model/session";
import { Timeline } from "../src/model/timeline";
import type { Item, SessionModel } from "../src/model/types";
import { chanceOf, Log, randomLog, typicalLog, whole } from "./events";
import { MemoryServer } from "./memory-server";
import { quiet, TestEnvironment, until } from "./test-environment";

interface Open {
  readonly environment: TestEnvironment;
  readonly server: MemoryServer;
  readonly session: SessionModel;
}

async function open(server = new MemoryServer(), pageSize = 200): Promise<Open> {
  const environment = new TestEnvironment();
  const session = createSessionModel(server.gateway(), "s1", { environment, pageSize });
  await until(environment, "it is live", () => session.connection.value.state === "live");
  await until(environment, "it watches", () => server.streams > 0);
  return { environment, server, session };
}

function wholeLog(server: MemoryServer): readonly Item[] {
  const timeline = new Timeline();
  timeline.append(server.log.events);
  return timeline.items;
}

function said(session: SessionModel): string {
  return session.items.value.map((item) => (item.type === "answer" ? item.text : "")).join("");
}

/** Everything but the key, which is as old as the item is on the screen. */
function seen(items: readonly Item[]): object[] {
  return items.map((item) => ({ ...item, key: "" }));
}

describe("opening", () => {
  test("a session shows the tail of its log, whatever its length, and then follows it", async () => {
    const { environment, server, session } = await open(new MemoryServer(typicalLog(5_000)));
    expect(server.called("getTimeline")).toBe(1);
    expect(session.hasEarlier.value).toBe(true);
    expect(session.items.value.at(-1)?.lastSeq).toBeGreaterThan(server.log.lastSeq - 5);
    server.write((log) => log.prompt("more").text("Fine."));
    await until(environment, "the answer is there", () => said(session).endsWith("Fine."));
    expect(session.state.value).toBe(TurnState.RUNNING);
  });

  test("earlier pages come one at a time until there are none", async () => {
    const { server, session } = await open(new MemoryServer(typicalLog(300)), 70);
    await Promise.all([session.loadEarlier(), session.loadEarlier()]);
    expect(server.called("getTimeline")).toBe(2);
    while (session.hasEarlier.value) await session.loadEarlier();
    expect(seen(session.items.value)).toEqual(seen(wholeLog(server)));
  });

  test("a session that is not there says so and is not asked for again", async () => {
    const environment = new TestEnvironment();
    const server = new MemoryServer();
    server.gone = true;
    const session = createSessionModel(server.gateway(), "s1", { environment });
    await until(environment, "it fails", () => session.failure.value !== undefined);
    expect(session.failure.value).toMatchObject({
      code: "SESSION_NOT_FOUND",
      message: "There is no such session.",
      suggestion: "Do something else.",
    });
    await environment.pass(60_000);
    expect(server.called("getSession")).toBe(1);
  });

  test("what events tell is newer than what was asked for", async () => {
    const { environment, server, session } = await open();
    server.write((log) => {
      log.prompt("go").add("titleUpdated", { title: "Tests" });
      log
        .add("planUpdated", { entries: [{ content: "look" }] })
        .add("todosUpdated", { todos: [{ todoId: "1" }] });
      log.add("usageUpdated", { used: 10n, size: 100n }).add("usageUpdated", { inputTokens: 3n });
      log.add("permissionRequested", { requestId: "p1", title: "May I?" });
    });
    await until(environment, "it asks", () => session.detail.value?.permissions.length === 1);
    const detail = session.detail.value;
    expect(detail?.summary).toMatchObject({ title: "Tests", state: TurnState.RUNNING, waiting: 1 });
    expect(detail?.usage).toMatchObject({ used: 10n, size: 100n, inputTokens: 3n });
    expect([session.plan.value.length, session.todos.value.length]).toEqual([1, 1]);
    server.write((log) => log.end(TurnState.CANCELED, "cancelled"));
    await until(environment, "it is over", () => session.state.value === TurnState.CANCELED);
    expect(session.detail.value).toMatchObject({ permissions: [], summary: { waiting: 0 } });
  });

  test("how far the agent is confined is known from each start of it, and stays while it works", async () => {
    const { environment, server, session } = await open();
    const sandbox = { level: "workspace", backend: "bubblewrap", note: "" };
    server.write((log) => {
      log.prompt("go").add("stateChanged", {
        state: TurnState.RUNNING,
        agentSession: { agentSessionId: "a", attachedBy: "new", sandbox },
      });
      log.end();
    });
    await until(environment, "it is over", () => session.state.value === TurnState.COMPLETED);
    expect(session.detail.value?.summary?.sandbox).toMatchObject(sandbox);
    server.write((log) => {
      log.prompt("again").add("stateChanged", {
        state: TurnState.RUNNING,
        agentSession: { agentSessionId: "a", attachedBy: "load" },
      });
    });
    await until(environment, "it is started again", () => session.state.value === TurnState.RUNNING);
    await until(environment, "it has no sandbox", () => session.detail.value?.summary?.sandbox === undefined);
  });

  test("a turn is under way as soon as its prompt is in sight", async () => {
    const { environment, server, session } = await open();
    server.write((log) => log.add("promptSubmitted", { text: "go" }));
    await until(environment, "the prompt is there", () => session.items.value.at(-1)?.type === "prompt");
    expect(session.state.value).toBe(TurnState.STARTING);
  });

  test("a detail that is newer than the timeline is not taken back by the events in between", async () => {
    const environment = new TestEnvironment();
    const server = new MemoryServer();
    const release = server.hold("getSession");
    const session = createSessionModel(server.gateway(), "s1", { environment });
    const states: TurnState[] = [];
    session.state.subscribe((state) => states.push(state));
    await quiet();
    server.write((log) => log.prompt("go").text("Done.").end());
    server.pace = 1;
    release();
    await until(environment, "it is shown", () => {
      server.changed();
      return said(session) === "Done.";
    });
    expect(states).toEqual([TurnState.UNSPECIFIED, TurnState.COMPLETED]);
  });

  test("whoever opens, pauses or wakes a session does not begin to follow it", async () => {
    const { environment, server, session } = await open();
    let runs = 0;
    const end = effect(() => {
      runs++;
      session.pause();
      session.wake();
      createSessionModel(server.gateway(), "s1", { environment }).dispose();
    });
    await until(environment, "it is live", () => session.connection.value.state === "live");
    server.kill();
    await environment.pass(1_000);
    expect(runs).toBe(1);
    end();
  });

  test("a thousand events are shown in a few frames, and never more than sixty times a second", async () => {
    const { environment, server, session } = await open();
    environment.frameLength = 7;
    let shown = 0;
    session.items.subscribe(() => shown++);
    server.write((log) => log.prompt("go"));
    for (let delta = 0; delta < 100; delta++) {
      server.write((log) => log.text("ten times ").text("as fast"));
      await environment.pass(5);
    }
    await until(environment, "all is there", () => said(session) === "ten times as fast".repeat(100));
    expect(shown).toBeLessThanOrEqual(0.5 * 60 + 2);
  });
});

describe("a server that goes away", () => {
  test("the page says so, comes back by itself, and has every event once", async () => {
    const { environment, server, session } = await open();
    server.write((log) => log.prompt("go").text("one "));
    await until(environment, "it began", () => said(session) === "one ");
    server.kill();
    await until(environment, "it is gone", () => session.connection.value.state === "reconnecting");
    server.log.text("two ").text("three");
    await environment.pass(20_000);
    expect(session.connection.value).toMatchObject({ state: "reconnecting" });
    server.start();
    await until(environment, "it is back", () => said(session) === "one two three");
    expect(session.connection.value.state).toBe("live");
    expect(seen(session.items.value)).toEqual(seen(wholeLog(server)));
    expect(server.called("getTimeline")).toBe(1);
    expect(server.watchedAfter).toEqual([1, 4]);
  });

  test("what came but was not drawn before the stream broke is not asked for again", async () => {
    const { environment, server } = await open();
    server.write((log) => log.prompt("go").text("one "));
    await quiet();
    server.kill();
    await quiet();
    server.start();
    environment.comeBack();
    await quiet();
    expect(server.watchedAfter).toEqual([1, 4]);
  });

  test("attempts grow rarer, up to one in five seconds", async () => {
    const { environment, server } = await open();
    environment.chance = () => 0.999;
    server.kill();
    const before = server.called("getSession");
    await environment.pass(3_000);
    expect(server.called("getSession") - before).toBe(3);
    await environment.pass(60_000);
    const steady = server.called("getSession");
    await environment.pass(50_000);
    expect(server.called("getSession") - steady).toBe(10);
  });

  test("a person who comes back does not wait", async () => {
    const { environment, server, session } = await open();
    server.kill();
    await environment.pass(60_000);
    server.start();
    environment.comeBack();
    await quiet();
    expect(session.connection.value.state).toBe("live");
  });

  test("a person who asks for another try does not wait either", async () => {
    const { environment, server, session } = await open();
    server.kill();
    await environment.pass(60_000);
    server.start();
    session.wake();
    await quiet();
    expect(session.connection.value.state).toBe("live");
    expect(server.streams).toBe(1);
  });

  test("a stream that is silent for forty seconds is a broken one", async () => {
    const { environment, server, session } = await open();
    await environment.pass(39_000);
    expect(server.called("watch")).toBe(1);
    await environment.pass(2_000);
    expect(server.called("watch")).toBe(2);
    expect(session.connection.value.state).toBe("live");
  });

  test("after a long sleep the stream is not trusted", async () => {
    const { environment, server, session } = await open();
    environment.sleep(3_600_000);
    expect(server.called("watch")).toBe(1);
    environment.comeBack();
    await environment.pass(500);
    expect(server.called("watch")).toBe(2);
    expect(session.connection.value.state).toBe("live");
  });

  test("a page without a valid token is signed out until the person comes back with one", async () => {
    const { environment, server, session } = await open();
    server.signedOut = true;
    server.kill();
    server.start();
    await until(environment, "it is signed out", () => session.connection.value.state === "signed_out");
    const before = server.called("getSession");
    await environment.pass(60_000);
    server.signedOut = false;
    environment.comeBack();
    await until(environment, "it is live", () => session.connection.value.state === "live");
    expect(server.called("getSession")).toBe(before + 1);
  });

  test("a server with another page makes this one outdated, and the words go on", async () => {
    const { environment, server, session } = await open();
    server.pageBuild = "build-2";
    server.kill();
    server.start();
    await until(environment, "it is outdated", () => session.connection.value.state === "outdated");
    server.write((log) => log.prompt("go").text("still here"));
    await until(environment, "words come", () => said(session) === "still here");
    expect(session.connection.value.state).toBe("outdated");
  });

  test("whoever has missed thousands of events begins again at the tail", async () => {
    const { environment, server, session } = await open();
    server.kill();
    while (server.log.lastSeq < 2_500) server.log.prompt("go").text("much").end();
    server.log.prompt("last").text("The end.");
    server.start();
    await until(environment, "it has the end", () => said(session).endsWith("The end."));
    expect(server.called("getTimeline")).toBe(2);
    expect(session.items.value.length).toBeLessThan(300);
    expect(session.hasEarlier.value).toBe(true);
  });

  test("an earlier page that comes too late, after a new beginning, is not shown", async () => {
    const { environment, server, session } = await open(new MemoryServer(typicalLog(300)));
    const release = server.hold("getTimeline", { once: true });
    const loading = session.loadEarlier();
    await quiet();
    server.kill();
    while (server.log.lastSeq < 2_800) server.log.prompt("go").text("much").end();
    server.log.prompt("last").text("The end.");
    server.start();
    await until(environment, "it has the end", () => said(session).endsWith("The end."));
    release();
    await loading;
    expect(said(session).endsWith("The end.")).toBe(true);
    expect(session.items.value[0]?.firstSeq).toBeGreaterThan(2_500);
  });

  test("a paused session asks for nothing and wakes up where it was", async () => {
    const { environment, server, session } = await open();
    session.pause();
    await until(environment, "it has left", () => server.streams === 0);
    server.write((log) => log.prompt("go").text("while you were away"));
    const before = server.calls.length;
    await environment.pass(120_000);
    expect(server.calls.length).toBe(before);
    session.wake();
    await until(environment, "it is up to date", () => said(session) === "while you were away");
  });
});

describe("a stream that lies", () => {
  test("an event that comes twice is shown once", async () => {
    const { environment, server, session } = await open();
    server.mangle = (events) => events.flatMap((event) => [event, event]);
    server.write((log) => log.prompt("go").text("a").text("b"));
    await until(environment, "all is there", () => said(session) === "ab");
    expect(seen(session.items.value)).toEqual(seen(wholeLog(server)));
  });

  test("an event that is left out is fetched", async () => {
    const { environment, server, session } = await open();
    server.mangle = (events) =>
      events.filter(({ payload }) => payload.case !== "textDelta" || payload.value.text !== "b");
    server.write((log) => log.prompt("go").text("a").text("b").text("c"));
    await until(environment, "all is there", () => said(session) === "abc");
    expect(seen(session.items.value)).toEqual(seen(wholeLog(server)));
  });

  test("whatever is cut, killed or left out, and whatever the pages, the page ends with exactly the log", async () => {
    for (let seed = 1; seed <= 30; seed++) await storm(seed);
  });

  async function storm(seed: number): Promise<void> {
    const chance = chanceOf(seed);
    const source = randomLog(chance, 120).events;
    const server = new MemoryServer(new Log());
    server.log.events.push(...source.slice(0, whole(chance, 60)));
    const environment = new TestEnvironment();
    environment.chance = chance;
    const session = createSessionModel(server.gateway(), "s1", {
      environment,
      pageSize: 1 + whole(chance, 40),
    });
    const acts = [
      () => server.kill(),
      () => server.start(),
      () => server.start(),
      () => environment.comeBack(),
      () => session.pause(),
      () => session.wake(),
      () => void session.loadEarlier(),
      () => (server.mangle = (events) => events.filter(() => chance() < 0.9)),
      () =>
        (server.mangle = (events) => events.flatMap((event) => (chance() < 0.5 ? [event, event] : [event]))),
    ];
    while (server.log.lastSeq < source.length) {
      const { lastSeq } = server.log;
      server.log.events.push(...source.slice(lastSeq, lastSeq + whole(chance, 12)));
      server.changed();
      if (chance() < 0.6) acts[whole(chance, acts.length)]?.();
      await environment.pass(whole(chance, 3) * 40);
    }
    server.mangle = (events) => events;
    server.kill();
    server.start();
    session.wake();
    const last = (items: readonly Item[]): number => Math.max(0, ...items.map((item) => item.lastSeq));
    const end = last(wholeLog(server));
    await until(environment, `seed ${seed} has the last event`, () => last(session.items.value) === end);
    while (session.hasEarlier.value) await session.loadEarlier();
    expect(seen(session.items.value), `seed ${seed}`).toEqual(seen(wholeLog(server)));
    session.dispose();
  }
});

describe("doing", () => {
  test("an answer to several permissions is one call", async () => {
    const { server, session } = await open();
    const scope = PermissionScope.ONCE;
    await session.decide([
      { requestId: "p1", optionId: "yes", scope },
      { requestId: "p2", optionId: "no", scope },
    ]);
    expect(server.submitted).toMatchObject([{ case: "permissionDecisions", value: { decisions: [{}, {}] } }]);
  });

  test("a form is answered with its values", async () => {
    const { server, session } = await open();
    await session.reply("q1", "accept", { colour: "green" });
    expect(server.submitted[0]).toMatchObject({
      value: { requestId: "q1", contentJson: '{"colour":"green"}' },
    });
  });

  test("options, todos and the queue go to the server, and what it says is shown", async () => {
    const { server, session } = await open();
    await session.setOption("mode", "careful");
    await session.setOption("verbose", true);
    expect(session.detail.value?.options).toMatchObject([{ optionId: "verbose", value: { value: true } }]);
    await session.writeTodos([]);
    await session.unqueue("q1");
    expect(server.submitted).toMatchObject([{ case: "queueRemoval", value: { promptId: "q1" } }]);
  });

  test("a call that fails says why until it is dismissed", async () => {
    const { server, session } = await open();
    server.kill();
    await session.stop();
    expect(session.failure.value).toMatchObject({ code: "UNREACHABLE", recoverable: true });
  });

  test("a disposed session leaves nothing behind", async () => {
    const { environment, server, session } = await open();
    session.dispose();
    await environment.pass(100_000);
    expect([server.streams, environment.waiting]).toEqual([0, 0]);
  });
});

describe("sending", () => {
  test("a prompt that is far too long is refused with what to do instead, and is not sent", async () => {
    const { server, session } = await open();
    expect(await session.send({ text: "a".repeat(50 * 1024 * 1024), attachments: [] })).toBe(false);
    expect(session.failure.value?.message).toBe(
      "The prompt is 50 MB with attachments; the limit is 30 MB. " +
        "Put long text in a file in the folder and mention it with @.",
    );
    expect(server.called("submitPrompt")).toBe(0);
  });
});
