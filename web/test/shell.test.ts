// The words and choices of the frame: days, ages, and what is news.

import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { describe, expect, it, vi } from "vitest";
import type { Gateway } from "../src/gateway/gateway";
import {
  AgentService,
  SessionSummarySchema,
  type GetSettingsRequest,
  type SessionSummary,
} from "../src/generated/portico/v1/agent_pb";
import { ErrorCode, ErrorDetailsSchema, TurnState } from "../src/generated/portico/v1/events_pb";
import { preferencesOf } from "../src/view/preferences";
import { turnStateLabel } from "../src/view/shell/turn-state";
import { ago, byDay, dayOf } from "../src/view/shell/relative-time";
import { noticesBetween } from "../src/view/shell/session-notices";
import { UNDO_MS, PendingRemovals } from "../src/view/shell/removals";
import { findProblems } from "../src/view/shell/settings-problems";
import { SessionSummaries } from "../src/view/shell/session-summaries";

type Facts = Partial<Omit<SessionSummary, "$typeName" | "$unknown">>;

const NOW = new Date(2026, 4, 20, 12, 0);

describe("the heading of a moment", () => {
  it.each([
    ["Today", new Date(2026, 4, 20, 0, 1)],
    ["Today", new Date(2026, 4, 20, 23, 0)],
    ["Yesterday", new Date(2026, 4, 19, 23, 59)],
    ["This week", new Date(2026, 4, 15, 9, 0)],
    ["This month", new Date(2026, 4, 1, 9, 0)],
  ])("is %s", (heading, at) => {
    expect(dayOf(at, NOW)).toBe(heading);
  });

  it("is the month for what is long ago", () => {
    expect(dayOf(new Date(2025, 10, 3), NOW)).toContain("2025");
  });
});

describe("an age", () => {
  it.each([
    ["now", 20_000],
    ["5 min", 5 * 60_000],
    ["3 h", 3 * 3_600_000],
    ["2 d", 2 * 86_400_000],
    ["now", -5_000],
  ])("is %s", (words, passed) => {
    expect(ago(new Date(NOW.getTime() - passed), NOW)).toBe(words);
  });
});

it("puts neighbours of one day under one heading", () => {
  const moments = [new Date(2026, 4, 20, 11), new Date(2026, 4, 20, 2), new Date(2026, 4, 19, 23)];
  const groups = byDay(moments, (at) => at, NOW);
  expect(groups.map(({ day, entries }) => [day, entries.length])).toEqual([
    ["Today", 2],
    ["Yesterday", 1],
  ]);
});

describe("news", () => {
  const summary = (change: Facts): SessionSummary =>
    create(SessionSummarySchema, { sessionId: "s1", title: "Mend the door", ...change });
  const kinds = (before: Facts, now: Facts): string[] =>
    noticesBetween(new Map([["s1", summary(before)]]), new Map([["s1", summary(now)]])).map(
      ({ kind }) => kind,
    );

  it("is a turn that ended", () => {
    expect(kinds({ state: TurnState.STREAMING }, { state: TurnState.COMPLETED })).toEqual(["ended"]);
  });

  it("is a short turn that was never seen at work", () => {
    expect(kinds({ state: TurnState.IDLE }, { state: TurnState.COMPLETED })).toEqual(["ended"]);
    expect(kinds({ state: TurnState.COMPLETED }, { state: TurnState.FAILED })).toEqual(["failed"]);
  });

  it("is a turn that failed", () => {
    expect(kinds({ state: TurnState.RUNNING }, { state: TurnState.FAILED })).toEqual(["failed"]);
  });

  it("is one more thing that waits for the person", () => {
    expect(kinds({ waiting: 1 }, { waiting: 2 })).toEqual(["asks"]);
  });

  it("is not a turn that the person stopped, goes on, or ended before", () => {
    expect(kinds({ state: TurnState.RUNNING }, { state: TurnState.CANCELED })).toEqual([]);
    expect(kinds({ state: TurnState.RUNNING }, { state: TurnState.STREAMING })).toEqual([]);
    expect(kinds({ state: TurnState.COMPLETED }, { state: TurnState.COMPLETED })).toEqual([]);
  });

  it("is not a session that was not known before", () => {
    expect(noticesBetween(new Map(), new Map([["s1", summary({ state: TurnState.COMPLETED })]]))).toEqual([]);
  });
});

describe("a session that was removed", () => {
  const session = create(SessionSummarySchema, { sessionId: "s1" });

  it("is gone once it is too late for an undo", async () => {
    vi.useFakeTimers();
    const remove = vi.fn(async () => Promise.resolve());
    const removals = new PendingRemovals(remove);
    removals.add(session, false);
    await vi.advanceTimersByTimeAsync(UNDO_MS - 1);
    expect(remove).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(remove).toHaveBeenCalledWith("s1", false);
    expect(removals.pending.value).toEqual([]);
    vi.useRealTimers();
  });

  it("stays if the person thinks better of it", async () => {
    vi.useFakeTimers();
    const remove = vi.fn(async () => Promise.resolve());
    const removals = new PendingRemovals(remove);
    removals.add(session, true);
    removals.undo("s1");
    await vi.advanceTimersByTimeAsync(2 * UNDO_MS);
    expect(remove).not.toHaveBeenCalled();
    expect(removals.pending.value).toEqual([]);
    vi.useRealTimers();
  });
});

describe("what is known of sessions", () => {
  const summary = (sessionId: string, title: string): SessionSummary =>
    create(SessionSummarySchema, { sessionId, title });
  const asking = (
    getSession: () => Promise<object>,
  ): { summaries: SessionSummaries; asked: typeof getSession } => {
    const asked = vi.fn(getSession);
    return {
      summaries: new SessionSummaries({ client: { getSession: asked } } as unknown as Gateway),
      asked,
    };
  };

  it("stays known while the list is searched for something else", () => {
    const { summaries } = asking(async () => Promise.resolve({}));
    summaries.take([summary("s1", "one"), summary("s2", "two")]);
    summaries.take([summary("s2", "two, renamed")]);
    expect([...summaries.known.value.values()].map(({ title }) => title)).toEqual(["one", "two, renamed"]);
  });

  it("is asked for when the list does not reach so far back, and only then", async () => {
    const { summaries, asked } = asking(async () =>
      Promise.resolve({ session: { summary: summary("s9", "old") } }),
    );
    summaries.take([summary("s1", "one")]);
    await summaries.ask(["s1", "s9"]);
    await summaries.ask(["s9"]);
    expect(asked).toHaveBeenCalledTimes(1);
    expect(summaries.known.value.get("s9")?.title).toBe("old");
  });

  it("is asked for again after the server could not be reached", async () => {
    const { summaries, asked } = asking(async () => Promise.reject(new Error("away")));
    await summaries.ask(["s9"]);
    await summaries.ask(["s9"]);
    expect(asked).toHaveBeenCalledTimes(2);
  });
});

it("remembers what the person set, and not what it cannot be", () => {
  const kept = new Map<string, unknown>([["theme", "plaid"]]);
  const memory = {
    get: (key: string) => kept.get(key),
    set: (key: string, value: unknown) => void kept.set(key, value),
  };
  const preferences = preferencesOf(memory);
  expect(preferences.theme.value).toBe("system");
  preferences.theme.value = "dark";
  expect(kept.get("theme")).toBe("dark");
  expect(preferencesOf(memory)).toBe(preferences);
});

describe("problems with settings", () => {
  const asking = (getSettings: (request: GetSettingsRequest) => object): Promise<readonly string[]> => {
    const transport = createRouterTransport(({ service }) => service(AgentService, { getSettings }));
    return findProblems({ client: createClient(AgentService, transport) } as Gateway, "/boats");
  };

  it("are those of the folder that was asked for", async () => {
    const problem = "/boats/.portico/settings.json is not right: line 1. It is ignored.";
    const found = await asking(({ workspace }) => ({ problems: workspace === "/boats" ? [problem] : [] }));
    expect(found).toEqual([problem]);
  });

  it("are also settings of the person's own that cannot be read", async () => {
    const found = await asking(() => {
      const value = { code: ErrorCode.INVALID_INPUT, suggestion: "Correct the file." };
      const details = [{ desc: ErrorDetailsSchema, value }];
      throw new ConnectError("settings.json is not right.", Code.InvalidArgument, undefined, details);
    });
    expect(found).toEqual(["settings.json is not right. Correct the file."]);
  });

  it("do not include a server that is away", async () => {
    const found = await asking(() => {
      throw new ConnectError("away", Code.Unavailable);
    });
    expect(found).toEqual([]);
  });
});

it("calls the states of a turn as the glossary does", () => {
  const glossary = readFileSync(new URL("../../docs/glossary.md", import.meta.url), "utf8");
  const rows = [...glossary.matchAll(/^\| `(\w+)` \| ([\w ]+) \|$/gm)];
  expect(rows).toHaveLength(10);
  for (const [, state = "", label] of rows) {
    expect(turnStateLabel(TurnState[state.toUpperCase() as keyof typeof TurnState])).toBe(label);
  }
});
