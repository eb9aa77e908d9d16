// Several finished tool calls folded into one line.

import { ToolKind } from "../../generated/portico/v1/events_pb";
import type { ToolItem } from "../../model/types";
import { DiffCounts } from "./diff-view";
import { formatDuration } from "./duration";
import { Icon } from "./elements";
import { keptOpen, type RowContext } from "./row-context";
import { Thought } from "./speech";
import type { TimelineStep } from "./timeline-rows";
import { ToolCard } from "./tool-card";
import { totalDiff } from "./tool-state";
import { countOf } from "../../model/review-actions";

interface StepsProps {
  readonly steps: readonly TimelineStep[];
  /** Names these steps in their session. */
  readonly place: string;
  readonly context: RowContext;
}

export function Steps({ steps, place, context }: StepsProps) {
  const chosen = keptOpen(context.session, `steps ${place}`);
  const open = chosen.value === true;
  const diffs = steps.flatMap((step) => (step.type === "tool" ? (totalDiff(step) ?? []) : []));
  const added = diffs.reduce((sum, diff) => sum + diff.added, 0);
  const removed = diffs.reduce((sum, diff) => sum + diff.removed, 0);
  const took = steps.reduce((sum, step) => sum + (step.durationMs ?? 0), 0);
  return (
    <section class="p-steps">
      <button type="button" class="p-fold" aria-expanded={open} onClick={() => (chosen.value = !open)}>
        <Icon name={open ? "chevron-down" : "chevron-right"} />
        <span class="p-fold-title">
          {stepsTitle(steps)} <span class="p-soft">· {stepsSummary(steps)}</span>
        </span>
        {(added > 0 || removed > 0) && <DiffCounts counts={{ added, removed }} />}
        <span class="p-fold-time">{formatDuration(took)}</span>
      </button>
      {open && (
        <div class="p-steps-body">
          {steps.map((step) =>
            step.type === "tool" ? (
              <ToolCard key={step.key} item={step} context={context} />
            ) : (
              <Thought key={step.key} item={step} context={context} />
            ),
          )}
        </div>
      )}
    </section>
  );
}

type StepKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "fetch" | "other";

/** In the order in which they are listed. */
const SUMMARIES: Readonly<Record<StepKind, (count: number) => string>> = {
  read: (count) => `read ${countOf(count, "file")}`,
  search: (count) => (count === 1 ? "searched" : `searched ${count} times`),
  fetch: (count) => `fetched ${countOf(count, "page")}`,
  edit: (count) => `edited ${countOf(count, "file")}`,
  move: (count) => `moved ${countOf(count, "file")}`,
  delete: (count) => `deleted ${countOf(count, "file")}`,
  execute: (count) => `ran ${countOf(count, "command")}`,
  other: (count) => `used ${countOf(count, "tool")}`,
};

export function stepsTitle(steps: readonly TimelineStep[]): string {
  return countOf(steps.filter((step) => step.type === "tool").length, "step");
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
