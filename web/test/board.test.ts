// The board: cards as the server tells them, answers that are not given by accident, and costs in words.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { Gateway } from "../src/gateway/gateway";
import { AgentService, BoardGroup, WatchBoardResponseSchema } from "../src/generated/portico/v1/agent_pb";
import { BoardModel, SETTLE } from "../src/view/board/board-model";
import { budgetsOf, budgetWords } from "../src/view/board/costs-view";
import { money, tokenCount } from "../src/view/board/money";
import { MemoryServer } from "./memory-server";
import { TestEnvironment } from "./test-environment";

type Change = MessageInitShape<typeof WatchBoardResponseSchema>["change"];

class Scene {
  readonly environment = new TestEnvironment();
  readonly answered: string[] = [];
  readonly board: BoardModel;
  readonly #queue: Change[] = [];
  #wake: () => void = () => undefined;

  constructor() {
    const take = async (): Promise<Change> => {
      while (this.#queue.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      return this.#queue.shift();
    };
    const transport = createRouterTransport(({ service }) =>
      service(AgentService, {
        async *watchBoard() {
          for (;;) yield create(WatchBoardResponseSchema, { change: await take() } as never);
        },
        submitClientEvent: ({ event }) => {
          if (event.case === "permissionDecisions")
            this.answered.push(event.value.decisions[0]?.requestId ?? "");
          return {};
        },
      }),
    );
    const client = createClient(AgentService, transport);
    const gateway: Gateway = { ...new MemoryServer().gateway(), client };
    this.board = new BoardModel(gateway, this.environment);
    this.board.open();
  }

  async tell(...changes: Change[]): Promise<void> {
    this.#queue.push(...changes);
    this.#wake();
    await this.environment.pass(50);
  }

  get names(): string[] {
    return this.board.cards.value.map((card) => card.summary?.sessionId ?? "");
  }
}

function asking(sessionId: string, requestId: string): Change {
  const permissions = [{ requestId, title: "Delete it" }];
  return { case: "changed", value: { summary: { sessionId }, group: BoardGroup.ASKING, permissions } };
}

test("cards come, change in their place, and go", async () => {
  const scene = new Scene();
  await scene.tell(asking("s1", "p1"), asking("s2", "p1"));
  expect(scene.names).toEqual(["s1", "s2"]);
  await scene.tell({ case: "changed", value: { summary: { sessionId: "s1" }, group: BoardGroup.DONE } });
  expect(scene.names).toEqual(["s1", "s2"]);
  expect(scene.board.cards.value[0]?.group).toBe(BoardGroup.DONE);
  await scene.tell({ case: "removedSessionId", value: "s1" });
  expect(scene.names).toEqual(["s2"]);
});

test("a click that meant what was there a moment ago answers nothing", async () => {
  const scene = new Scene();
  await scene.tell(asking("s1", "p1"));
  const [card] = scene.board.cards.value;
  if (card === undefined) throw new Error("no card");
  await scene.board.answer(card, "p1", "yes");
  expect(scene.answered).toEqual([]);
  expect(scene.board.settled.value).toBe(false);
  await scene.environment.pass(SETTLE);
  expect(scene.board.settled.value).toBe(true);
  await scene.board.answer(card, "p1", "yes");
  expect(scene.answered).toEqual(["p1"]);
});

test("costs, tokens and budgets in words", () => {
  expect([money(1.5, "USD"), money(0.0123, "USD"), money(2, "EUR"), money(0, "")]).toEqual([
    "$1.50",
    "$0.0123",
    "2.00 EUR",
    "$0.00",
  ]);
  expect([tokenCount(12), tokenCount(1_250), tokenCount(3_000_000)]).toEqual(["12", "1.3k", "3.0M"]);
  const settings = [
    { name: "maxCostUsd", valueJson: "1.0" },
    { name: "budgets", valueJson: '{"day":{"dollars":5}}' },
  ];
  expect(budgetWords(budgetsOf(settings))).toBe("Porter's budgets: $1.00 a turn, $5.00 a day");
  expect(budgetWords(budgetsOf([]))).toBe("");
});
