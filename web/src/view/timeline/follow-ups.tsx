// Next steps below the last answer, from what its turn did: run the tests, commit. Proposals have a card of their own.

import { useComputed } from "@preact/signals";
import { ToolKind, ToolStatus, TurnState, type ProposalUpdated } from "../../generated/portico/v1/events_pb";
import type { Item, SessionModel } from "../../model/types";
import { focusComposer } from "../shell/composer-focus";

export type FollowUp =
  | { readonly label: string; readonly send: string }
  /** Words for the composer, which the person may change before they send them. */
  | { readonly label: string; readonly write: string };

const CHANGES = new Set([ToolKind.EDIT, ToolKind.DELETE, ToolKind.MOVE]);
const TESTS = /\b(tests?|pytest|vitest|jest|check)\b/i;

/** Suggestions after the last turn; none after one that changed no files. */
export function followUpsOf(
  items: readonly Item[],
  proposals: readonly ProposalUpdated[],
): readonly FollowUp[] {
  const prompt = items.findLast((item) => item.type === "prompt");
  if (prompt === undefined || proposals.length > 0) return [];
  const turn = items.filter(({ turnId }) => turnId === prompt.turnId);
  const done = turn.filter((item) => item.type === "tool" && item.status === ToolStatus.COMPLETED);
  if (!done.some((item) => item.type === "tool" && CHANGES.has(item.kind))) return [];
  const tested = done.some(
    (item) => item.type === "tool" && item.kind === ToolKind.EXECUTE && TESTS.test(item.title),
  );
  return [
    ...(tested ? [] : [{ label: "Run the tests", send: "Run the tests" }]),
    { label: "Commit…", write: "Commit the changes, with a message that says why" },
  ];
}

export function FollowUps({ session }: { readonly session: SessionModel }) {
  const steps = useComputed(() =>
    session.state.value === TurnState.COMPLETED && session.detail.value?.summary?.readsOnly === false
      ? followUpsOf(session.items.value, session.detail.value.proposals)
      : [],
  ).value;
  if (steps.length === 0) return null;
  const take = (step: FollowUp): void => {
    if ("send" in step) void session.send({ text: step.send, attachments: [] });
    else {
      if (session.draft.peek().trim() === "") session.draft.value = step.write;
      focusComposer();
    }
  };
  return (
    <div class="p-model-offer" role="group" aria-label="Next steps">
      {steps.map((step) => (
        <button key={step.label} type="button" class="p-button" onClick={() => take(step)}>
          {step.label}
        </button>
      ))}
    </div>
  );
}
