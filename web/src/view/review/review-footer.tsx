// Footer of a review: apply, discard, or ask to revise.

import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { ProposalUpdated } from "../../generated/portico/v1/events_pb";
import type { Review } from "../../model/review";
import { countOf } from "../../model/review-actions";
import type { SelectionCounts } from "../../model/review-selection";
import { Icon } from "../timeline/elements";

interface FooterProps {
  readonly review: Review;
  readonly proposal: ProposalUpdated;
  readonly revising: Signal<boolean>;
  /** The agent has been asked. */
  readonly onAsked: () => void;
}

export function ReviewFooter({ review, proposal, revising, onAsked }: FooterProps) {
  const { counts, rejected } = review.selection.value;
  const sure = useSignal(false);
  const busy = review.actions.busy.value;
  const isPart = counts.rejected > 0;
  useEffect(() => {
    sure.value = false;
  }, [proposal.revision, counts.rejected]);
  const discard = (): void => {
    if (!isPart && !sure.peek()) sure.value = true;
    else void review.actions.discard(proposal, isPart ? rejected : []);
  };
  return (
    <footer class="p-review-foot">
      {revising.value && (
        <ReviseBox
          review={review}
          proposal={proposal}
          revising={revising}
          counts={counts}
          onAsked={onAsked}
        />
      )}
      <div class="p-review-sum" aria-live="polite">
        <span>{chosenText(counts)}</span>
        {leftText(counts) !== "" && <span class="p-review-left">{leftText(counts)}</span>}
      </div>
      {!revising.value && (
        <div class="p-review-deeds">
          <button
            type="button"
            class="p-button p-button-main"
            disabled={busy !== undefined || counts.chosen === 0}
            aria-keyshortcuts="Enter"
            title={`${applyLabel(counts)} (Enter)`}
            onClick={() => void review.actions.apply(proposal)}
          >
            {busy === "apply" && <Icon name="loading" spinning />}
            {applyLabel(counts)}
          </button>
          <button
            type="button"
            class={`p-button${sure.value ? " p-button-bad" : ""}`}
            disabled={busy !== undefined}
            onClick={discard}
            onBlur={() => (sure.value = false)}
          >
            {sure.value ? "Confirm discard" : isPart ? `Discard ${counts.rejected} rejected` : "Discard"}
          </button>
          <button
            type="button"
            class="p-button"
            disabled={busy !== undefined}
            title="Ask the agent to revise (r)"
            onClick={() => (revising.value = true)}
          >
            Ask to revise
          </button>
        </div>
      )}
    </footer>
  );
}

interface ReviseBoxProps extends FooterProps {
  readonly counts: SelectionCounts;
}

function ReviseBox({ review, proposal, revising, counts, onAsked }: ReviseBoxProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const { comment } = review.choicesOf(proposal.proposalId);
  useLayoutEffect(() => field.current?.focus(), []);
  const send = async (): Promise<void> => {
    if (!(await review.actions.revise(proposal))) return;
    revising.value = false;
    onAsked();
  };
  const goes =
    counts.rejected > 0
      ? `Includes ${countOf(counts.rejected, "rejected change")}.`
      : "Includes the whole proposal.";
  return (
    <form
      class="p-revise"
      aria-label="Ask to revise"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={field}
        class="p-field p-revise-text"
        rows={3}
        aria-label="What should change?"
        placeholder="What should change?"
        value={comment.value}
        onInput={(event) => (comment.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
          else if (event.key === "Escape") revising.value = false;
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <div class="p-revise-row">
        <span class="p-soft p-revise-goes">{goes}</span>
        <button type="button" class="p-button" onClick={() => (revising.value = false)}>
          Cancel
        </button>
        <button
          type="submit"
          class="p-button p-button-main"
          disabled={
            review.actions.busy.value !== undefined || (comment.value.trim() === "" && counts.rejected === 0)
          }
        >
          Send
        </button>
      </div>
    </form>
  );
}

function chosenText({ changes, chosen, chosenFiles }: SelectionCounts): string {
  if (chosen === 0) return "Nothing selected";
  if (chosen === changes) return `${countOf(changes, "change")} in ${countOf(chosenFiles, "file")}`;
  return `${chosen} of ${countOf(changes, "change")} in ${countOf(chosenFiles, "file")}`;
}

function leftText({ rejected, undecidedConflicts, denied }: SelectionCounts): string {
  const words: string[] = [];
  if (rejected > 0) words.push(`${rejected} rejected`);
  if (undecidedConflicts > 0) words.push(`${countOf(undecidedConflicts, "conflict")} to resolve`);
  if (denied > 0) words.push(`${denied} protected`);
  return words.join(" · ");
}

function applyLabel({ changes, chosen, denied }: SelectionCounts): string {
  if (chosen === changes && denied === 0) return "Apply all";
  return chosen === 0 ? "Apply" : `Apply ${countOf(chosen, "change")}`;
}
