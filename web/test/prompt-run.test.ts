// A run of a prompt file from the page: what is asked, what is sent, and what stays after a cancel.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { Gateway } from "../src/gateway/gateway";
import {
  AgentService,
  type RunPromptRequest,
  type RunPromptResponseSchema,
} from "../src/generated/portico/v1/agent_pb";
import { PromptRun } from "../src/model/prompt-run";

type Update = MessageInitShape<typeof RunPromptResponseSchema>;

const variables = [
  { name: "input" },
  { name: "name", description: "who is greeted" },
  { name: "tone", defaultValue: "calm" },
];
const text = (words: string): Update => ({
  update: {
    case: "event",
    value: { sessionId: "s1", payload: { case: "textDelta", value: { text: words } } },
  },
});
const result = { text: "Ahoy.", complete: true, savable: { name: "Ada" }, variablesPath: "/v.json" };

class Server {
  asked: RunPromptRequest | undefined;
  stopped = "";
  saved: Record<string, string> = {};
  updates: Update[] = [text("Ahoy."), { update: { case: "result", value: result } }];
  whenStopped: (() => void) | undefined;

  async run(): Promise<PromptRun> {
    const transport = createRouterTransport(({ service }) => {
      service(AgentService, {
        listPrompts: () => ({ prompts: [{ name: "greet", variables }] }),
        listModels: () => ({ models: [{ name: "openai:gpt-5", isDefault: true }] }),
        getSettings: () => ({ settings: [{ name: "maxCostUsd", valueJson: "1.0" }] }),
        runPrompt: (request) => this.#follow(request),
        stopTurn: ({ sessionId }) => {
          this.stopped = sessionId;
          this.whenStopped?.();
          return { stopped: true };
        },
        saveSessionVariables: ({ values }) => {
          this.saved = values;
          return { path: "/v.json" };
        },
      });
    });
    const run = new PromptRun({ client: createClient(AgentService, transport) } as Gateway, "/work");
    await run.load();
    run.choose(run.prompts.value?.[0]);
    return run;
  }

  async *#follow(request: RunPromptRequest): AsyncGenerator<Update> {
    this.asked = request;
    for (const update of this.updates) yield update;
    if (this.updates.length > 1) return;
    await new Promise<void>((stop) => (this.whenStopped = stop));
    yield { update: { case: "result", value: { text: "Half", finishReason: "cancelled" } } };
  }
}

test("what is missing is told before anything is sent", async () => {
  const server = new Server();
  const run = await server.run();
  await run.run();
  expect(run.problem.value).toBe("Choose a file to run the prompt on.");
  run.file.value = "crew.txt";
  await run.run();
  expect(run.problem.value).toBe("Enter a value for name.");
  run.type("name", "Ada");
  run.maxCost.value = "much";
  await run.run();
  expect(run.problem.value).toContain("such as 0.50");
  expect(server.asked).toBeUndefined();
});

test("only what was changed is sent, with the file, the model and the limit of this run", async () => {
  const server = new Server();
  const run = await server.run();
  run.file.value = " crew.txt ";
  run.type("name", "Ada");
  [run.model.value, run.maxCost.value] = ["openai:gpt-5-mini", "$0.25"];
  await run.run();
  expect(server.asked).toMatchObject({
    workspace: "/work",
    name: "greet",
    values: { name: "Ada" },
    sourcePath: "crew.txt",
    model: "openai:gpt-5-mini",
    maxCostUsd: 0.25,
  });
  expect([run.running.value, run.text.value, run.result.value?.complete]).toEqual([false, "Ahoy.", true]);
  expect(await run.saveVariables()).toBe("/v.json");
  expect(server.saved).toEqual({ name: "Ada" });
});

test("a cancelled run stops its turn and keeps half an answer", async () => {
  const server = new Server();
  server.updates = [text("Half")];
  const run = await server.run();
  run.file.value = "crew.txt";
  run.type("name", "Ada");
  const stop = run.text.subscribe((words) => {
    if (words === "Half") run.cancel();
  });
  await run.run();
  stop();
  expect(server.stopped).toBe("s1");
  expect(run.result.value).toMatchObject({ text: "Half", complete: false, finishReason: "cancelled" });
});
