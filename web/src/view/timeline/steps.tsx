// Several finished tool calls as one line, which opens to all of them.

import { keptOpen, type RowContext } from "./row-context";
import { DiffCounts } from "./diff-view";
import { formatDuration } from "./duration";
import { Icon } from "./elements";
import type { TimelineStep } from "./timeline-rows";
import { Thought } from "./speech";
import { stepsSummary, stepsTitle } from "./step-words";
import { ToolCard } from "./tool-card";
import { totalDiff } from "./tool-state";

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
