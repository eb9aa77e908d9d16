import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RunningTurn, RunningTurns, type ToolCall, type TurnPart } from "../src/models/open-turns";

const never = new AbortController().signal;
let turns: RunningTurns;
let end: () => void;
let fail: (reason: Error) => void;
let turn: RunningTurn;

beforeEach(() => {
  vi.useFakeTimers();
  turns = new RunningTurns();
  turn = new RunningTurn("s", new Set(["weather"]), () => undefined);
  turns.start(turn, () => new Promise<void>((resolve, reject) => ([end, fail] = [resolve, reject])));
});
afterEach(() => vi.useRealTimers());

function calls(parts: readonly TurnPart[]): ToolCall[] {
  return parts.flatMap((part) => (part.case === "call" ? [part.value] : []));
}

function ask(place: string, signal = never): Promise<{ text?: string }> {
  return turn.call({ name: "weather", inputJson: JSON.stringify({ place }) }, signal);
}

async function receive(): Promise<{ parts: TurnPart[]; how: Promise<string> }> {
  const parts: TurnPart[] = [];
  const how = turn.receive((part) => parts.push(part));
  how.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(0);
  return { parts, how };
}

test("several calls go out in one response and each gets its own result, in any order", async () => {
  const { parts, how } = await receive();
  const answers = ["Oslo", "Rome", "Cairo"].map((place) => ask(place));
  await vi.advanceTimersByTimeAsync(50);
  expect(await how).toBe("called");
  const told = calls(parts);
  expect(told.map(({ inputJson }) => JSON.parse(inputJson) as unknown)).toEqual([
    { place: "Oslo" },
    { place: "Rome" },
    { place: "Cairo" },
  ]);
  expect(turns.waitingFor([told[1]?.callId ?? ""])).toBe(turn);
  for (const { callId, inputJson } of told.toReversed()) turn.answer(callId, { text: inputJson });
  expect((await Promise.all(answers)).map(({ text }) => text)).toEqual([
    '{"place":"Oslo"}',
    '{"place":"Rome"}',
    '{"place":"Cairo"}',
  ]);
  expect(turns.waitingFor(told.map(({ callId }) => callId))).toBeUndefined();
});

test("what the agent says or calls between two requests comes with the next", async () => {
  const first = await receive();
  void ask("Oslo");
  await vi.advanceTimersByTimeAsync(50);
  await first.how;
  turn.report({ case: "text", value: "While you wait: " });
  void ask("Rome");
  const second = await receive();
  expect(second.parts[0]).toEqual({ case: "text", value: "While you wait: " });
  expect(calls(second.parts)).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(50);
  expect(await second.how).toBe("called");
  const third = await receive();
  turn.report({ case: "text", value: "Rain." });
  end();
  expect(await third.how).toBe("ended");
  expect(third.parts).toEqual([{ case: "text", value: "Rain." }]);
  expect(turns.withTool("s", "weather")).toBeUndefined();
});

test("only tools of the request are called by VS Code", () => {
  expect(turns.withTool("s", "weather")).toBe(turn);
  expect(turns.withTool("s", "deploy")).toBeUndefined();
  expect(turns.withTool("other", "weather")).toBeUndefined();
});

test("a call that is given up rejects and is not told any more", async () => {
  const given = new AbortController();
  const answer = ask("Oslo", given.signal);
  given.abort();
  await expect(answer).rejects.toThrow("weather was cancelled");
  const { parts } = await receive();
  expect(parts).toEqual([]);
});

test("a turn that fails rejects in the request that waits for it", async () => {
  const { how } = await receive();
  fail(new Error("No key."));
  await expect(how).rejects.toThrow("No key.");
});
