// Dialog with the checkpoints of a session, newest first: changes since each, and restore.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { Checkpoint } from "../../generated/portico/v1/agent_pb";
import { reviewOf } from "../../model/review";
import { isFailure } from "../../model/review-status";
import type { Failure, SessionModel } from "../../model/types";
import { preferencesOf } from "../preferences";
import { ago } from "../shell/relative-time";
import { ChangedLines, ChangesLine, useCheckpointChanges } from "./checkpoint-diff";
import { Dialog } from "../dialog";
import { RestoreDialog } from "./restore-dialog";
import { momentLabel } from "./review-labels";

interface CheckpointsProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly onLeave: () => void;
}

export function CheckpointsDialog({ session, gateway, onLeave }: CheckpointsProps) {
  const { status } = reviewOf(session, gateway);
  const list = useSignal<readonly Checkpoint[] | Failure | undefined>(undefined);
  const chosen = useSignal<Checkpoint | undefined>(undefined);
  const restoring = useSignal<Checkpoint | undefined>(undefined);
  const changes = useCheckpointChanges(status, chosen.value?.checkpointId);
  const { splitDiffs } = preferencesOf(gateway.memory);
  useEffect(() => {
    void status.checkpoints().then((found) => (list.value = found));
  }, [status]);
  const found = list.value;
  const known = changes.value !== undefined && !isFailure(changes.value) ? changes.value : undefined;
  return (
    <Dialog title="Checkpoints" kind="checkpoints" onLeave={onLeave}>
      {found === undefined && <p class="p-soft">Loading checkpoints…</p>}
      {found !== undefined && isFailure(found) && <p class="p-form-problem">{found.message}</p>}
      {found !== undefined && !isFailure(found) && found.length === 0 && (
        <p class="p-soft">No checkpoints yet. One is taken before each prompt that may change files.</p>
      )}
      {found !== undefined && !isFailure(found) && found.length > 0 && (
        <div class="p-points">
          <List points={found} chosen={chosen} />
          <div class="p-points-side">
            {chosen.value === undefined ? (
              <p class="p-soft">Select a checkpoint to see what changed since.</p>
            ) : (
              <>
                <div class="p-points-top">
                  <ChangesLine changes={changes.value} />
                  {known !== undefined && known.files.length > 0 && (
                    <button type="button" class="p-button" onClick={() => (restoring.value = chosen.peek())}>
                      Restore…
                    </button>
                  )}
                </div>
                {known !== undefined && known.files.length > 0 && (
                  <ChangedLines changes={known} split={splitDiffs} />
                )}
              </>
            )}
          </div>
        </div>
      )}
      {restoring.value !== undefined && (
        <RestoreDialog
          session={session}
          gateway={gateway}
          checkpointId={restoring.value.checkpointId}
          label={nameOf(restoring.value)}
          leftOut={restoring.value.leftOut}
          onLeave={() => (restoring.value = undefined)}
        />
      )}
    </Dialog>
  );
}

function List({ points, chosen }: { points: readonly Checkpoint[]; chosen: Signal<Checkpoint | undefined> }) {
  const now = new Date();
  return (
    <ul class="p-points-list" aria-label="Checkpoints">
      {points.map((point) => {
        const at = point.at === undefined ? undefined : timestampDate(point.at);
        const isChosen = chosen.value?.checkpointId === point.checkpointId;
        return (
          <li key={point.checkpointId}>
            <button
              type="button"
              class={`p-point${isChosen ? " p-point-at" : ""}`}
              aria-pressed={isChosen}
              onClick={() => (chosen.value = point)}
            >
              <span class="p-point-name">{nameOf(point)}</span>
              <span class="p-point-facts">
                <span>{momentLabel(point.moment)}</span>
                {at !== undefined && (
                  <time dateTime={at.toISOString()} title={at.toLocaleString()}>
                    {ago(at, now)}
                  </time>
                )}
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function nameOf({ label, moment }: Checkpoint): string {
  return label === "" ? `Checkpoint ${momentLabel(moment)}` : label;
}
