// Confirms the restore of a checkpoint.

import { useSignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import { countOf } from "../../model/review-actions";
import { reviewOf } from "../../model/review";
import { isFailure } from "../../model/review-status";
import type { SessionModel } from "../../model/types";
import { isActive } from "../cards/card";
import { ChangedFiles, ChangesLine, useCheckpointChanges } from "./checkpoint-diff";
import { Dialog } from "../dialog";
import { FormProblem } from "../form";

interface RestoreDialogProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly checkpointId: string;
  /** The words by which the person knows the moment. */
  readonly label: string;
  readonly leftOut: number;
  /** Label of the button, if it is not "Restore". */
  readonly action?: string;
  readonly onLeave: () => void;
}

export function RestoreDialog({
  session,
  gateway,
  checkpointId,
  label,
  leftOut,
  action = "Restore",
  onLeave,
}: RestoreDialogProps) {
  const review = reviewOf(session, gateway);
  const changes = useCheckpointChanges(review.status, checkpointId);
  const problem = useSignal("");
  const busy = useSignal(false);
  const isBusy = isActive(session.state.value);
  const found = changes.value;
  const restore = async (): Promise<void> => {
    busy.value = true;
    const restored = await review.status.restore(checkpointId);
    busy.value = false;
    if (isFailure(restored)) problem.value = `${restored.message} ${restored.suggestion}`.trim();
    else onLeave();
  };
  const known = found !== undefined && !isFailure(found) ? found : undefined;
  return (
    <Dialog title={action === "Restore" ? "Restore to here" : action} kind="restore" onLeave={onLeave}>
      <div class="p-back">
        <p class="p-back-label">{label}</p>
        <ChangesLine changes={found} />
        {known !== undefined && known.files.length > 0 && <ChangedFiles changes={known} />}
        <p class="p-soft">
          Files return to their state before this prompt. Your own changes since then become a proposal, and
          the current state is saved as a checkpoint: nothing is lost.
        </p>
        {leftOut > 0 && (
          <p class="p-soft">
            {countOf(leftOut, "file")} could not be saved in the checkpoint and will not change.
          </p>
        )}
        {isBusy && <p class="p-form-problem">The agent is working. Wait for it, or stop it first.</p>}
        <FormProblem text={problem.value} />
        <div class="p-card-actions">
          <button
            type="button"
            class="p-button p-button-main"
            disabled={
              busy.value || isBusy || known === undefined || known.files.length + known.unlisted === 0
            }
            onClick={() => void restore()}
          >
            {action}
          </button>
          <button type="button" class="p-button" onClick={onLeave}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  );
}
