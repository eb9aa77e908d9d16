// A plan of the agent: a line in the timeline, and the list of its steps.

import { Progress, type PlanEntry } from "../../generated/portico/v1/events_pb";
import type { PlanItem } from "../../model/types";
import { keptOpen, type RowContext } from "./row-context";
import { Icon } from "./elements";

export function PlanLine({ item, context }: { readonly item: PlanItem; readonly context: RowContext }) {
  const chosen = keptOpen(context.session, item.key);
  const open = chosen.value === true;
  return (
    <section class="p-plan-line">
      <button type="button" class="p-fold" aria-expanded={open} onClick={() => (chosen.value = !open)}>
        <Icon name={open ? "chevron-down" : "chevron-right"} />
        <span class="p-fold-title">
          Plan <span class="p-soft">· {progressCount(item.entries)}</span>
        </span>
      </button>
      {open && <PlanList entries={item.entries} />}
    </section>
  );
}

export function PlanList({ entries }: { readonly entries: readonly PlanEntry[] }) {
  return (
    <ol class="p-plan">
      {entries.map((entry, index) => (
        <li key={index} class={`p-plan-step${entry.status === Progress.COMPLETED ? " p-done" : ""}`}>
          <PlanIcon status={entry.status} />
          <span>{entry.content}</span>
        </li>
      ))}
    </ol>
  );
}

function PlanIcon({ status }: { readonly status: Progress }) {
  switch (status) {
    case Progress.COMPLETED:
      return (
        <>
          <Icon name="pass-filled" />
          <span class="p-aloud">done: </span>
        </>
      );
    case Progress.IN_PROGRESS:
      return (
        <>
          <Icon name="arrow-circle-right" />
          <span class="p-aloud">in progress: </span>
        </>
      );
    case Progress.PENDING:
    case Progress.UNSPECIFIED:
      return <Icon name="circle-large-outline" />;
  }
}

interface Step {
  readonly status: Progress;
  readonly content: string;
}

/** "3 of 7" */
export function progressCount(steps: readonly Step[]): string {
  return `${steps.filter((step) => step.status === Progress.COMPLETED).length} of ${steps.length}`;
}

/** The current or next entry. */
export function currentStep(steps: readonly Step[]): string {
  const current =
    steps.find((step) => step.status === Progress.IN_PROGRESS) ??
    steps.find((step) => step.status !== Progress.COMPLETED);
  return current?.content ?? "";
}
