import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CancellationToken } from "vscode";
import {
  PromptRunResultSchema,
  RunPromptResponseSchema,
  type PromptRunResult,
  type RunPromptRequest,
} from "../../web/src/generated/portico/v1/agent_pb";
import type { EventSchema } from "../../web/src/generated/portico/v1/events_pb";
import { runSummary } from "../../web/src/model/prompt-list";
import { failureLog, incompleteMark, runPrompt } from "../src/prompts/prompt-run";
import { ServerConnection } from "../src/server/connection";
import { serve, type FakeService } from "./fake-service";

type Payload = NonNullable<MessageInitShape<typeof EventSchema>["payload"]>;

let service: FakeService;
let asked: RunPromptRequest[];
let stopped: string[];
let happens: Payload[];
let ends: MessageInitShape<typeof PromptRunResultSchema> | undefined;

beforeEach(async () => {
  [asked, stopped, happens, ends] = [[], [], [], { text: "Done.", complete: true }];
  service = await serve({
    stopTurn: ({ sessionId }) => {
      stopped.push(sessionId);
      return {};
    },
    runPrompt: async function* (request) {
      asked.push(request);
      for (const payload of happens) {
        const update = { case: "event" as const, value: { sessionId: "s1", payload } };
        yield await Promise.resolve(create(RunPromptResponseSchema, { update }));
      }
      if (ends !== undefined)
        yield create(RunPromptResponseSchema, { update: { case: "result", value: ends } });
    },
  });
});
afterEach(() => service.close());

async function run(isCancellationRequested = false): Promise<readonly [PromptRunResult, readonly string[]]> {
  const told: string[] = [];
  const token: CancellationToken = {
    isCancellationRequested,
    onCancellationRequested: () => ({ dispose: () => undefined }),
  };
  const request = { name: "translate", values: { input: "Hi" }, maxCostUsd: 0.5 };
  const result = await runPrompt(new ServerConnection(service.server), request, token, {
    started: (sessionId) => told.push(`started ${sessionId}`),
    text: (words) => told.push(`text ${words}`),
    step: (words) => told.push(`step ${words}`),
  });
  return [result, told];
}

function ended(fields: MessageInitShape<typeof PromptRunResultSchema>): PromptRunResult {
  return create(PromptRunResultSchema, { durationMs: 4200n, model: "openai:gpt-5", ...fields });
}

test("a run is told as it goes, and ends with its result", async () => {
  happens = [
    { case: "promptSubmitted", value: {} },
    { case: "toolStarted", value: { title: "Look" } },
    { case: "permissionRequested", value: { title: "Paint" } },
    { case: "textDelta", value: { text: "Done." } },
  ];
  const [result, told] = await run();
  expect(told).toEqual(["started s1", "step Look", "step Waiting for your answer: Paint", "text Done."]);
  expect(result.text).toBe("Done.");
  expect(asked[0]).toMatchObject({ name: "translate", values: { input: "Hi" }, maxCostUsd: 0.5 });
});

test("a run that is cancelled early is stopped as soon as its session is known", async () => {
  happens = [{ case: "promptSubmitted", value: {} }];
  await run(true);
  await expect.poll(() => stopped).toEqual(["s1"]);
});

test("a server that ends in the middle is told as such", async () => {
  ends = undefined;
  await expect(run()).rejects.toThrow("The server stopped before the run ended.");
});

test("the summary has model, cost and time, and says what is missing", () => {
  expect(runSummary("sum", ended({ complete: true, costUsd: 0.0123 }))).toBe(
    "sum finished (openai:gpt-5, $0.01, 4.2 s).",
  );
  const half = { text: "Half", finishReason: "cancelled" };
  expect(runSummary("sum", ended(half))).toBe(
    "sum was cancelled (openai:gpt-5, 4.2 s). The answer is incomplete.",
  );
  expect(runSummary("sum", ended({ model: "", error: "No key. Add one." }))).toBe(
    "sum failed (4.2 s). No key. Add one.",
  );
});

test("half an answer is marked, and a failure is logged with its trace id", () => {
  expect(incompleteMark({ complete: true, finishReason: "end_turn" })).toBe("");
  expect(incompleteMark({ complete: false, finishReason: "cancelled" })).toContain("the run was cancelled");
  const failed = ended({ error: "No key.", traceId: "5f1d", sessionId: "s1" });
  expect(failureLog("sum", failed)).toBe("prompt sum: No key. (trace 5f1d, session s1)");
});
