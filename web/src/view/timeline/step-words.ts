// What several steps did, in a few words: "read 3 files, ran 2 commands".

import { ToolKind } from "../../generated/portico/v1/events_pb";
import type { ToolItem } from "../../model/types";
import type { TimelineStep } from "./timeline-rows";

type StepKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "fetch" | "other";

/** In the order in which they are told. */
const SUMMARIES: Readonly<Record<StepKind, (count: number) => string>> = {
  read: (count) => `read ${counted(count, "file")}`,
  search: (count) => (count === 1 ? "searched" : `searched ${count} times`),
  fetch: (count) => `fetched ${counted(count, "page")}`,
  edit: (count) => `edited ${counted(count, "file")}`,
  move: (count) => `moved ${counted(count, "file")}`,
  delete: (count) => `deleted ${counted(count, "file")}`,
  execute: (count) => `ran ${counted(count, "command")}`,
  other: (count) => `used ${counted(count, "tool")}`,
};

export function stepsTitle(steps: readonly TimelineStep[]): string {
  return counted(steps.filter((step) => step.type === "tool").length, "step");
}

export function stepsSummary(steps: readonly TimelineStep[]): string {
  const things = new Map<StepKind, Set<string>>();
  for (const step of steps) {
    if (step.type !== "tool") continue;
    const kind = stepKind(step.kind);
    const known = things.get(kind) ?? new Set<string>();
    things.set(kind, known.add(countedThing(step, kind)));
  }
  return (Object.keys(SUMMARIES) as StepKind[])
    .flatMap((kind) => {
      const count = things.get(kind)?.size ?? 0;
      return count === 0 ? [] : [SUMMARIES[kind](count)];
    })
    .join(", ");
}

/** The same file twice is one file; the same command twice is two. */
function countedThing(tool: ToolItem, kind: StepKind): string {
  const isFile = kind === "read" || kind === "edit" || kind === "delete" || kind === "move";
  return (isFile ? tool.locations[0]?.path : undefined) ?? tool.key;
}

function stepKind(kind: ToolKind): StepKind {
  switch (kind) {
    case ToolKind.READ:
      return "read";
    case ToolKind.EDIT:
      return "edit";
    case ToolKind.DELETE:
      return "delete";
    case ToolKind.MOVE:
      return "move";
    case ToolKind.SEARCH:
      return "search";
    case ToolKind.EXECUTE:
      return "execute";
    case ToolKind.FETCH:
      return "fetch";
    case ToolKind.THINK:
    case ToolKind.SWITCH_MODE:
    case ToolKind.OTHER:
    case ToolKind.UNSPECIFIED:
      return "other";
  }
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
