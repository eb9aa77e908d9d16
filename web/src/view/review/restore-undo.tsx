// Undo of a restore: the files become what they were before it.

import { useSignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import { ProposalStatus } from "../../generated/portico/v1/events_pb";
import { reviewOf } from "../../model/review";
import { isFailure } from "../../model/review-status";
import type { MarkItem, SessionModel } from "../../model/types";
import { isActive } from "../cards/card";

interface RestoreUndoProps {
  readonly item: MarkItem;
  readonly session: SessionModel;
  readonly gateway: Gateway;
}

/** Offered at the last restore, until the agent works again. */
export function RestoreUndo({ item, session, gateway }: RestoreUndoProps) {
  const busy = useSignal(false);
  const problem = useSignal("");
  const kept = item.restored?.keptCheckpointId ?? "";
  const later = session.items.value.findLast(
    (one) => one.type === "prompt" || (one.type === "mark" && one.restored !== undefined),
  );
  if (kept === "" || later?.key !== item.key) return null;
  const undo = async (): Promise<void> => {
    busy.value = true;
    const review = reviewOf(session, gateway);
    const { status, actions } = review;
    const since = await status.changesSince(item.restored?.checkpointId ?? "");
    const isUntouched = !isFailure(since) && since.files.length + since.unlisted === 0;
    const undone = await status.restore(kept);
    busy.value = false;
    if (isFailure(undone)) {
      problem.value = `${undone.message} ${undone.suggestion}`.trim();
      return;
    }
    // What the restore had set aside is in the files again, and what it had changed is not the person's.
    const aside = review.find(item.restored?.proposalId ?? "");
    if (aside?.status === ProposalStatus.OPEN) await actions.discard(aside, []);
    if (isUntouched && undone.proposal !== undefined) await actions.discard(undone.proposal, []);
  };
  return (
    <>
      {" · "}
      <button
        type="button"
        class="p-link-button"
        disabled={busy.value || isActive(session.state.value)}
        onClick={() => void undo()}
      >
        Undo restore
      </button>
      {problem.value !== "" && <span class="p-form-problem"> {problem.value}</span>}
    </>
  );
}
