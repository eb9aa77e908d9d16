import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CancellationToken } from "vscode";
import { InvokeResponseSchema } from "../../web/src/generated/portico/v1/agent_pb";
import { TurnState, type EventSchema } from "../../web/src/generated/portico/v1/events_pb";
import { existingSession, runTurn } from "../src/models/agent-turn";
import { ServerConnection } from "../src/server/connection";
import { serve, type FakeService } from "./fake-service";

type Payload = NonNullable<MessageInitShape<typeof EventSchema>["payload"]>;

let service: FakeService;
let connection: ServerConnection;
let happens: Payload[];
let stopped: string[];

beforeEach(async () => {
  happens = [];
  stopped = [];
  service = await serve({
    getSession: ({ sessionId }) => {
      if (sessionId !== "kept") throw new ConnectError("There is no such session.", Code.NotFound);
      return {};
    },
    stopTurn: ({ sessionId }) => {
      stopped.push(sessionId);
      return {};
    },
    invoke: async function* () {
      for (const payload of happens)
        yield await Promise.resolve(
          create(InvokeResponseSchema, { update: { case: "event", value: { payload } } }),
        );
    },
  });
  connection = new ServerConnection(service.server);
});
afterEach(() => service.close());

function token(isCancellationRequested: boolean): CancellationToken {
  return { isCancellationRequested, onCancellationRequested: () => ({ dispose: () => undefined }) };
}

async function run(isCancelled = false): Promise<string[]> {
  const told: string[] = [];
  await runTurn(connection, { sessionId: "kept", text: "Go" }, token(isCancelled), {
    text: (words) => told.push(`text ${words}`),
    thinking: (words) => told.push(`thinking ${words}`),
    step: (words) => told.push(`step ${words}`),
  });
  return told;
}

test("a turn is told as it goes", async () => {
  happens = [
    { case: "thinking", value: { text: "Hm." } },
    { case: "toolStarted", value: { title: "Look" } },
    { case: "permissionRequested", value: { title: "Paint" } },
    { case: "textDelta", value: { text: "Done." } },
    { case: "turnEnded", value: { state: TurnState.COMPLETED } },
  ];
  const asks = "step Waiting for your answer in Portico: Paint";
  expect(await run()).toEqual(["thinking Hm.", "step Look", asks, "text Done."]);
});

test("a turn that fails says why, and one that goes on after an error has not failed", async () => {
  happens = [
    { case: "error", value: { message: "No room.", details: { suggestion: "Make some." } } },
    { case: "turnEnded", value: { state: TurnState.FAILED } },
  ];
  await expect(run()).rejects.toThrow("No room. Make some.");
  happens = [
    { case: "error", value: { message: "No room." } },
    { case: "turnEnded", value: { state: TurnState.COMPLETED } },
  ];
  expect(await run()).toEqual([]);
});

test("what is cancelled before there is a turn is stopped as soon as there is one", async () => {
  happens = [
    { case: "promptSubmitted", value: {} },
    { case: "turnEnded", value: { state: TurnState.CANCELED } },
  ];
  await run(true);
  await expect.poll(() => stopped).toEqual(["kept"]);
});

test("a conversation goes on in its session only as long as that is there", async () => {
  expect(await existingSession(connection, "kept")).toBe("kept");
  expect(await existingSession(connection, "removed")).toBeUndefined();
  expect(await existingSession(connection, undefined)).toBeUndefined();
});
