// The list of decisions: what a row says, how pages follow each other, and what is exported.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { Gateway } from "../src/gateway/gateway";
import {
  AgentService,
  ListDecisionsResponseSchema,
  RecordedDecisionSchema,
} from "../src/generated/portico/v1/agent_pb";
import { DecidedBy, PermissionOutcome, PermissionScope } from "../src/generated/portico/v1/events_pb";
import { DecisionList, decisionsAsCsv } from "../src/model/decision-list";
import { describe } from "../src/view/shell/decisions";
import { MemoryServer } from "./memory-server";

type Recorded = Exclude<MessageInitShape<typeof RecordedDecisionSchema>, { $typeName: string }>;

const decision = (change: Recorded = {}): Recorded => ({
  sessionId: "s1",
  sessionTitle: "Boats",
  agent: "porter",
  workspace: "/w",
  seq: 7n,
  at: { seconds: 1_700_000_000n, nanos: 0 },
  request: { requestId: "p1", title: "Run `make sail`" },
  resolved: {
    requestId: "p1",
    outcome: PermissionOutcome.ALLOWED,
    by: DecidedBy.PERSON,
    scope: PermissionScope.ONCE,
  },
  ...change,
});

function listOf(
  answer: (after: string) => MessageInitShape<typeof ListDecisionsResponseSchema>,
): DecisionList {
  const transport = createRouterTransport(({ service }) =>
    service(AgentService, {
      listDecisions: ({ afterSessionId }) => create(ListDecisionsResponseSchema, answer(afterSessionId)),
    }),
  );
  const gateway: Gateway = { ...new MemoryServer().gateway(), client: createClient(AgentService, transport) };
  return new DecisionList(gateway, describe);
}

test("a row says what was decided, by whom and by which rule", () => {
  const row = (change: Recorded) => describe(create(RecordedDecisionSchema, decision(change)));
  expect(row({})).toMatchObject({
    request: "Run make sail",
    decision: "Allowed once",
    by: "by you",
    rule: "",
  });
  const resolved = { outcome: PermissionOutcome.DENIED, by: DecidedBy.POLICY, rule: "execute:make*" };
  expect(row({ resolved })).toMatchObject({ decision: "Denied", by: "by a rule", rule: "execute:make*" });
});

test("pages follow each other, and all are loaded for an export", async () => {
  const pages = ["", "s3", "s2"];
  const list = listOf((after) => {
    const page = pages.indexOf(after);
    return { decisions: [decision({ seq: BigInt(page) })], nextAfterSessionId: pages[page + 1] ?? "" };
  });
  await Promise.all([list.load(), list.load()]);
  expect([list.rows.value.length, list.more.value]).toEqual([1, true]);
  await list.loadAll();
  expect(list.rows.value.map(({ key }) => key)).toEqual(["s1 0", "s1 1", "s1 2"]);
  expect(list.more.value).toBe(false);
});

test("a failure is told, and ends the loading of all", async () => {
  const list = listOf(() => {
    throw new ConnectError("No such session.", Code.InvalidArgument);
  });
  await list.loadAll();
  expect(list.problem.value).toBe("No such session.");
});

test("an export has no formulas and quotes what needs it", () => {
  const request = { requestId: "p1", title: '=cmd("x"), then' };
  const csv = decisionsAsCsv([describe(create(RecordedDecisionSchema, decision({ request })))]);
  expect(csv.split("\r\n")).toEqual([
    "at,session,agent,folder,request,decision,by,rule",
    `2023-11-14T22:13:20.000Z,Boats,porter,/w,"'=cmd(""x""), then",Allowed once,by you,`,
    "",
  ]);
});
