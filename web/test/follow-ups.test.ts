// Next steps after an answer: they follow from what the last turn did.

import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  ProposalStatus,
  ProposalUpdatedSchema,
  ToolKind,
  type ProposalUpdated,
} from "../src/generated/portico/v1/events_pb";
import { Timeline } from "../src/model/timeline";
import type { Item } from "../src/model/types";
import { followUpsOf } from "../src/view/timeline/follow-ups";
import { Log } from "./events";

function itemsOf(act: (log: Log) => void): readonly Item[] {
  const log = new Log().start();
  act(log);
  const timeline = new Timeline();
  timeline.append(log.events);
  return timeline.items;
}

function call(log: Log, toolId: string, toolKind: ToolKind, success = true): void {
  log.add("toolStarted", { toolId, title: toolId, toolKind });
  log.add("toolCompleted", { toolId, success, durationMs: 1n });
}

const labels = (items: readonly Item[], proposals: readonly ProposalUpdated[] = []): string[] =>
  followUpsOf(items, proposals).map(({ label }) => label);

test("a turn that changed files can be tested and committed", () => {
  expect(labels(itemsOf((log) => call(log.prompt("Fix it"), "a.py", ToolKind.EDIT)))).toEqual([
    "Run the tests",
    "Commit…",
  ]);
});

test("tests that ran are not offered again", () => {
  const items = itemsOf((log) => {
    log.prompt("Fix it");
    call(log, "a.py", ToolKind.EDIT);
    call(log, "pytest -q", ToolKind.EXECUTE);
  });
  expect(labels(items)).toEqual(["Commit…"]);
});

test("nothing is offered after a turn that changed nothing, and none for an earlier one", () => {
  expect(labels(itemsOf((log) => call(log.prompt("Look"), "a.py", ToolKind.READ)))).toEqual([]);
  expect(labels(itemsOf((log) => call(log.prompt("Fix it"), "a.py", ToolKind.EDIT, false)))).toEqual([]);
  const later = itemsOf((log) => {
    call(log.prompt("Fix it"), "a.py", ToolKind.EDIT);
    log.end();
    log.prompt("Thanks");
  });
  expect(labels(later)).toEqual([]);
  expect(labels([])).toEqual([]);
});

test("proposed files have their own card, and nothing else is offered before they are reviewed", () => {
  const proposal = create(ProposalUpdatedSchema, {
    proposalId: "p1",
    status: ProposalStatus.OPEN,
    files: [{ path: "a.py" }, { path: "b.py" }],
    unlisted: 1,
  });
  const items = itemsOf((log) => {
    call(log.prompt("Fix it"), "a.py", ToolKind.EDIT);
    log.add("proposalUpdated", proposal);
  });
  expect(labels(items, [proposal])).toEqual([]);
});
