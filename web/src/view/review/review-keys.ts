// Keyboard shortcuts of a review. Those that decide or write act once, however long they are held down.

import type { Signal } from "@preact/signals";
import type { ProposalUpdated } from "../../generated/portico/v1/events_pb";
import type { Review } from "../../model/review";
import type { ReviewView } from "./review-view";
import { isTextInput } from "../text-input";

export interface ReviewContext {
  readonly review: Review;
  readonly view: ReviewView;
  readonly revising: Signal<boolean>;
  readonly proposal: ProposalUpdated;
}

export function onReviewKey(event: KeyboardEvent, reviewing: ReviewContext): void {
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = actionFor(event, reviewing);
  if (act === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

function actionFor(event: KeyboardEvent, reviewing: ReviewContext): (() => void) | undefined {
  const { review, view, revising, proposal } = reviewing;
  const { key, repeat, target } = event;
  if (isTextInput(target, "input:not([type=checkbox])")) return undefined;
  switch (key) {
    case "j":
      return () => view.step(1);
    case "k":
      return () => view.step(-1);
    case "n":
      return () => view.stepFile(1);
    case "p":
      return () => view.stepFile(-1);
    case "Escape":
      return () => (revising.peek() ? (revising.value = false) : review.close());
  }
  if (repeat) return undefined;
  switch (key) {
    case "a":
      return () => decide(reviewing, true);
    case "x":
      return () => decide(reviewing, false);
    case "u":
      return () => undo(reviewing);
    case "s":
      return () => (view.split.value = !view.split.peek());
    case "r":
      return () => (revising.value = true);
    case "Enter":
      // A button that has the focus does what it says.
      if (target instanceof Element && target.closest("button, a, summary") !== null) return undefined;
      return () => void review.actions.apply(proposal);
    default:
      return undefined;
  }
}

/** Decides on the current change, and moves to the next one. */
function decide({ review, view, proposal }: ReviewContext, accepted: boolean): void {
  const stop = view.current;
  if (stop === undefined) {
    view.step(1);
    return;
  }
  review.choicesOf(proposal.proposalId).decide(stop, accepted);
  view.step(1);
}

/** The last decision; where there is none, the last apply. */
function undo({ review, proposal }: ReviewContext): void {
  if (!review.choicesOf(proposal.proposalId).undo() && proposal.canUndo) void review.actions.undo(proposal);
}
