// Bar above the composer: open proposals whose card is out of sight.

import { useComputed } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import { reviewOf } from "../../model/review";
import { countOf } from "../../model/review-actions";
import type { Item, SessionModel } from "../../model/types";
import { DiffCounts } from "../timeline/diff-view";
import { Icon } from "../timeline/elements";
import { totalOf } from "./proposal-card";

export function ReviewBar({
  session,
  gateway,
}: {
  readonly session: SessionModel;
  readonly gateway: Gateway;
}) {
  const review = reviewOf(session, gateway);
  const waiting = useComputed(() => {
    const shown = lastProposal(session.items.value);
    return (session.detail.value?.proposals ?? []).filter((one) => one.proposalId !== shown);
  }).value;
  const [first] = waiting;
  if (first === undefined || review.open.value !== undefined) return null;
  const files = waiting.flatMap((one) => one.files);
  const unlisted = waiting.reduce((sum, one) => sum + one.unlisted, 0);
  return (
    <div class="p-pending p-review-bar" role="group" aria-label="Waiting for review">
      <Icon name="git-compare" />
      <span class="p-pending-words">{countOf(files.length + unlisted, "file")} to review</span>
      <DiffCounts counts={totalOf(files)} />
      <button type="button" class="p-link-button" onClick={() => review.show(first.proposalId)}>
        Review
      </button>
    </div>
  );
}

/** The proposal that the conversation ends with, so that its card is in sight anyway. */
function lastProposal(items: readonly Item[]): string | undefined {
  const last = items.findLast((item) => item.type !== "mark" && item.type !== "end");
  return last?.type === "proposal" ? last.proposal.proposalId : undefined;
}
