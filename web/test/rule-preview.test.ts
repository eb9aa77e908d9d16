// A pattern and its preview: what is shown belongs to the text in the field, also while the server is slow or away.

import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { Gateway } from "../src/gateway/gateway";
import { AgentService, PreviewRuleResponseSchema } from "../src/generated/portico/v1/agent_pb";
import { RulePreview } from "../src/model/rule-preview";
import { MemoryServer } from "./memory-server";
import { TestEnvironment } from "./test-environment";

class Scene {
  readonly environment = new TestEnvironment();
  readonly asked: string[] = [];
  readonly pattern: RulePreview;
  #held: (() => void)[] = [];
  holds = false;
  failure: ConnectError | undefined;

  constructor() {
    const transport = createRouterTransport(({ service }) =>
      service(AgentService, {
        previewRule: async ({ rule }) => {
          this.asked.push(rule);
          if (this.holds) await new Promise<void>((resolve) => this.#held.push(resolve));
          if (this.failure !== undefined) throw this.failure;
          return create(PreviewRuleResponseSchema, { coversRequest: rule.startsWith("execute:make") });
        },
      }),
    );
    const gateway: Gateway = {
      ...new MemoryServer().gateway(),
      client: createClient(AgentService, transport),
    };
    const request = { sessionId: "s1", requestId: "p1" };
    this.pattern = new RulePreview(gateway, request, "execute:make *", this.environment);
  }

  get covers(): boolean | undefined {
    return this.pattern.preview.value?.coversRequest;
  }

  release(): void {
    for (const held of this.#held.splice(0)) held();
  }
}

test("the answer about the old text is not shown for a new one", async () => {
  const scene = new Scene();
  scene.pattern.open();
  await scene.environment.pass(200);
  expect(scene.covers).toBe(true);
  scene.holds = true;
  scene.pattern.rule.value = "execute:sew *";
  expect(scene.covers).toBeUndefined();
  await scene.environment.pass(200);
  expect(scene.asked).toEqual(["execute:make *", "execute:sew *"]);
  expect(scene.covers).toBeUndefined();
  scene.release();
  await scene.environment.pass(0);
  expect(scene.covers).toBe(false);
});

test("an answer that comes late is dropped", async () => {
  const scene = new Scene();
  scene.holds = true;
  scene.pattern.open();
  await scene.environment.pass(200);
  scene.pattern.rule.value = "execute:sew *";
  await scene.environment.pass(100);
  scene.release();
  await scene.environment.pass(0);
  expect(scene.covers).toBeUndefined();
});

test("a preview that did not reach the server is asked for again", async () => {
  const scene = new Scene();
  scene.failure = new ConnectError("away", Code.Unavailable);
  scene.pattern.open();
  await scene.environment.pass(200);
  expect(scene.pattern.problem.value).toBe("The Portico server is not responding.");
  scene.failure = undefined;
  await scene.environment.pass(2_000);
  expect([scene.covers, scene.pattern.problem.value]).toEqual([true, ""]);
});

test("a preview that the server refused is not asked for again", async () => {
  const scene = new Scene();
  scene.failure = new ConnectError("No permission request p1 is waiting.", Code.InvalidArgument);
  scene.pattern.open();
  await scene.environment.pass(10_000);
  expect(scene.asked).toHaveLength(1);
  expect(scene.pattern.problem.value).toBe("No permission request p1 is waiting.");
});

test("it keeps its text and asks again when it is opened again", async () => {
  const scene = new Scene();
  const close = scene.pattern.open();
  scene.pattern.rule.value = "execute:make sail";
  close();
  await scene.environment.pass(1_000);
  expect(scene.asked).toEqual([]);
  scene.pattern.open();
  await scene.environment.pass(200);
  expect([scene.asked, scene.covers]).toEqual([["execute:make sail"], true]);
});
