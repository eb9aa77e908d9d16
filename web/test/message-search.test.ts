// Search over messages: what is asked, when, and what is shown of the answers.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import type { Gateway } from "../src/gateway/gateway";
import { AgentService, SearchSessionsResponseSchema } from "../src/generated/portico/v1/agent_pb";
import { MessageSearch } from "../src/model/message-search";
import { MemoryServer } from "./memory-server";
import { TestEnvironment } from "./test-environment";

type Answer = MessageInitShape<typeof SearchSessionsResponseSchema>;

class Scene {
  readonly environment = new TestEnvironment();
  readonly words = signal("");
  readonly asked: { words: string; limit: number }[] = [];
  readonly search: MessageSearch;

  constructor(answer: (words: string, call: number) => Answer) {
    const transport = createRouterTransport(({ service }) =>
      service(AgentService, {
        searchSessions: ({ words, limit }) => {
          this.asked.push({ words, limit });
          return create(SearchSessionsResponseSchema, answer(words, this.asked.length));
        },
      }),
    );
    const gateway: Gateway = {
      ...new MemoryServer().gateway(),
      client: createClient(AgentService, transport),
    };
    this.search = new MessageSearch(gateway, this.words, this.environment);
    this.search.open();
  }

  async type(words: string): Promise<void> {
    this.words.value = words;
    await this.environment.pass(300);
  }

  get seqs(): number[] {
    return this.search.hits.value.map(({ hit }) => Number(hit.seq));
  }
}

const found = (...seqs: number[]): Answer => ({
  hits: seqs.map((seq) => ({ number: BigInt(seq), sessionId: "s1", seq: BigInt(seq) })),
  sessions: [{ sessionId: "s1", title: "Boats" }],
});

test("the words are asked for once, after a pause, and not before there are two letters", async () => {
  const scene = new Scene(() => found(3));
  for (const words of ["a", "an", "anc"]) scene.words.value = words;
  await scene.environment.pass(300);
  expect(scene.asked.map(({ words }) => words)).toEqual(["anc"]);
  expect(scene.seqs).toEqual([3]);
  await scene.type("a");
  expect(scene.asked).toHaveLength(1);
  expect(scene.seqs).toEqual([]);
});

test("a hit whose session was deleted meanwhile is left out", async () => {
  const scene = new Scene(() => ({ ...found(3), sessions: [] }));
  await scene.type("anchor");
  expect(scene.seqs).toEqual([]);
});

test("while events wait to be indexed, it looks again until none does", async () => {
  const scene = new Scene((_, call) => ({ ...found(call), pending: BigInt(Math.max(0, 3 - call)) }));
  await scene.type("anchor");
  expect(scene.search.pending.value).toBe(2);
  await scene.environment.pass(5_000);
  expect([scene.search.pending.value, scene.asked.length, ...scene.seqs]).toEqual([0, 3, 3]);
});

test("more hits are asked for on request", async () => {
  const scene = new Scene(() => ({ ...found(3), more: true }));
  await scene.type("anchor");
  scene.search.showMore();
  await scene.environment.pass(300);
  expect(scene.asked.map(({ limit }) => limit)).toEqual([20, 40]);
});

test("a search that fails says why, and the next one is shown", async () => {
  const scene = new Scene((_, call) => {
    if (call === 1) throw new ConnectError("The index is full.", Code.Internal);
    return found(3);
  });
  await scene.type("anchor");
  expect(scene.search.problem.value).toContain("The index is full.");
  await scene.type("anchors");
  expect([scene.search.problem.value, ...scene.seqs]).toEqual(["", 3]);
});
