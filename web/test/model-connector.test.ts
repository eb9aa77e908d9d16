// Connecting a model: nothing is chosen that has not answered, and nothing is told that does not hold.

import { create } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createClient,
  createRouterTransport,
  type ServiceImpl,
} from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { Gateway } from "../src/gateway/gateway";
import {
  AgentService,
  CompleteModelResponseSchema,
  KeyVerdict,
  ModelDownloadSchema,
  ProviderSchema,
  PullModelResponseSchema,
  SessionDetailSchema,
} from "../src/generated/portico/v1/agent_pb";
import { progressText } from "../src/view/models/download-offer";
import { ModelConnector } from "../src/view/models/model-connector";
import { lacksModel } from "../src/view/models/connect-state";

const provider = create(ProviderSchema, {
  name: "boats",
  title: "Boats",
  keyVariable: "BOATS_KEY",
  needsKey: true,
  models: ["dinghy"],
});
const OWN = "http://127.0.0.1:11434";
const wanted = { provider, key: "sk-secret", model: "dinghy" };

class Server {
  readonly done: string[] = [];
  model = "";
  overruled = false;
  served = ["sloop"];
  refuses = false;

  connecting(): ModelConnector {
    const { done } = this;
    const service: Partial<ServiceImpl<typeof AgentService>> = {
      listProviders: () => ({ providers: [provider], model: this.overruled ? "ships:frigate" : this.model }),
      setSecret: ({ name, value }) => {
        this.done.push(`${name}=${value}`);
        return {};
      },
      setSettings: ({ settings: [...settings] }) => {
        const setting = settings.pop();
        for (const { name, valueJson } of settings) this.done.push(`${name} ${JSON.parse(valueJson)}`);
        this.model = JSON.parse(setting?.valueJson ?? "") as string;
        this.done.push(`${setting?.name ?? ""} ${this.model}`);
        return {};
      },
      findModelServers: () => ({
        servers: [{ title: "Ollama", server: { address: OWN }, models: ["sloop"] }],
      }),
      checkProvider: ({ key, server }) => ({
        verdict: key === "sk-wrong" ? KeyVerdict.REFUSED : KeyVerdict.ACCEPTED,
        detail: key === "sk-wrong" ? "It rejected the key." : "",
        models: this.served,
        provider: "pier",
        address: `${server?.address ?? ""}/v1`,
        keyVariable: "PORTICO_PIER_KEY",
      }),
      pullModel: async function* ({ name }) {
        yield await Promise.resolve(create(PullModelResponseSchema, { done: 1n, total: 2n }));
        done.push(`pull ${name}`);
      },
      completeModel: async function* ({ key, server }) {
        done.push(`tried ${[key, server?.address ?? ""].join(" ")}`.trim());
        yield await Promise.resolve(
          create(CompleteModelResponseSchema, { update: { case: "text", value: "Yes" } }),
        );
      },
    };
    if (this.refuses) {
      service.completeModel = async function* () {
        await Promise.resolve();
        yield* [];
        throw new ConnectError("The key is wrong.", Code.FailedPrecondition);
      };
    }
    const transport = createRouterTransport((router) => router.service(AgentService, service));
    return new ModelConnector(
      { client: createClient(AgentService, transport) } as unknown as Gateway,
      undefined,
    );
  }
}

test("a model that answers is chosen, and its key kept after it was tried", async () => {
  const server = new Server();
  const connecting = server.connecting();
  await connecting.begin();
  expect(connecting.stage.value).toEqual({ state: "asking" });
  await connecting.connect(wanted);
  expect(server.done).toEqual(["tried sk-secret", "BOATS_KEY=sk-secret", "model boats:dinghy"]);
  expect(connecting.stage.value).toEqual({
    state: "done",
    words: "boats:dinghy works. Porter uses it from now on.",
  });
});

test("a model that was downloaded is tested and chosen", async () => {
  const server = new Server();
  const connecting = server.connecting();
  const seen: string[] = [];
  connecting.progress.subscribe((one) => {
    if (one !== undefined) seen.push(progressText(one));
  });
  await connecting.pull(create(ModelDownloadSchema, { name: "offline:coder", title: "Coder" }));
  expect(server.done).toEqual(["pull offline:coder", "tried", "model offline:coder"]);
  expect(seen).toEqual(["0 MiB of 0 MiB."]);
  expect(connecting.progress.value).toBeUndefined();
  expect(connecting.stage.value).toMatchObject({ state: "done" });
});

test("progress has a size, and the time left as soon as it is known", () => {
  const progress = { done: 10_485_760n, total: 1_117_320_768n };
  expect(progressText(create(PullModelResponseSchema, { ...progress, secondsLeft: 75.4 }))).toBe(
    "10 MiB of 1,066 MiB, 1:15 left.",
  );
  expect(progressText(create(PullModelResponseSchema, { ...progress, checking: true }))).toBe(
    "Verifying the checksum…",
  );
});

test("a model that does not answer is not chosen, its key is not kept, and why is told", async () => {
  const server = new Server();
  server.refuses = true;
  const connecting = server.connecting();
  await connecting.connect(wanted);
  expect(server.done).toEqual([]);
  expect(connecting.stage.value).toEqual({ state: "problem", words: "The key is wrong." });
});

test("a server of the person's own is kept with its key once it has answered", async () => {
  const server = new Server();
  const connecting = server.connecting();
  await connecting.begin();
  expect(connecting.found.value.map(({ title }) => title)).toEqual(["Ollama"]);
  await connecting.connectServer({ address: OWN, kind: "anthropic", key: "sk-secret", model: "" });
  expect(server.done).toEqual([
    `tried sk-secret ${OWN}`,
    "PORTICO_PIER_KEY=sk-secret",
    `models.pier.address ${OWN}/v1`,
    "models.pier.kind anthropic",
    "models.pier.keyVariable PORTICO_PIER_KEY",
    "model pier:sloop",
  ]);
});

test("a server without a key is kept without one, and of several models one is asked for", async () => {
  const server = new Server();
  server.served = ["sloop", "ketch"];
  const connecting = server.connecting();
  const own = { address: OWN, kind: "openai-chat", key: "" } as const;
  await connecting.connectServer({ ...own, model: "" });
  expect(connecting.stage.value).toEqual({ state: "problem", words: "Choose one of its models." });
  expect(connecting.served.value).toEqual(["sloop", "ketch"]);
  await connecting.connectServer({ ...own, model: "ketch" });
  expect(server.done).toEqual([
    `tried  ${OWN}`,
    `models.pier.address ${OWN}/v1`,
    "models.pier.kind openai-chat",
    "model pier:ketch",
  ]);
});

test("a key that the server refuses is not tried further, and not kept", async () => {
  const server = new Server();
  const connecting = server.connecting();
  await connecting.connectServer({ address: OWN, kind: "openai-chat", key: "sk-wrong", model: "sloop" });
  expect(server.done).toEqual([]);
  expect(connecting.stage.value).toEqual({ state: "problem", words: "It rejected the key." });
});

test("where something else decides on the model, that is told", async () => {
  const server = new Server();
  server.overruled = true;
  const connecting = server.connecting();
  await connecting.connect({ ...wanted, key: "" });
  expect(connecting.stage.value).toMatchObject({
    state: "done",
    words: expect.stringContaining("this folder uses ships:frigate") as string,
  });
});

test("whoever has left is told nothing any more", async () => {
  const connecting = new Server().connecting();
  const before = connecting.stage.value;
  connecting.leave();
  await connecting.begin();
  expect(connecting.stage.value).toBe(before);
});

test("Porter lacks a model as long as neither the session nor the settings name one that is of use", () => {
  const withChoice = (agent: string, name: string): boolean =>
    lacksModel(
      create(SessionDetailSchema, {
        summary: { agent },
        options: [
          {
            optionId: "model",
            category: "model",
            value: { case: "choice", value: "default" },
            choices: [
              { value: "default", name },
              { value: "boats:dinghy", name: "boats:dinghy" },
            ],
          },
        ],
      }),
    );
  expect(withChoice("porter", "No model")).toBe(true);
  expect(withChoice("porter", "Default (offline:smollm2)")).toBe(true);
  expect(withChoice("porter", "Default (boats:dinghy)")).toBe(false);
  expect(withChoice("claude", "No model")).toBe(false);
  expect(lacksModel(undefined)).toBe(false);
});
