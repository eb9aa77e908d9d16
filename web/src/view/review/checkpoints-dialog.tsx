// Dialog with the checkpoints of a session, newest first: changes since each, and restore.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { Checkpoint } from "../../generated/portico/v1/agent_pb";
import { reviewOf } from "../../model/review";
import { countOf } from "../../model/review-actions";
import { isFailure } from "../../model/review-status";
import type { Failure, SessionModel } from "../../model/types";
import { preferencesOf } from "../preferences";
import { ago } from "../shell/relative-time";
import { ChangedLines, ChangesLine, useCheckpointChanges } from "./checkpoint-diff";
import { Dialog } from "../dialog";
import { adoptStyles } from "../late-styles";
import { RestoreDialog } from "./restore-dialog";
import { momentLabel } from "./review-labels";

const CSS = `
.p-points-list ul { list-style: none; margin: 0; padding: 0; }
.p-point-group { color: var(--p-text-soft); font-size: 12px; margin: 8px 8px 4px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.p-point-files { color: var(--p-text-soft); display: block; font-family: var(--p-mono, monospace); font-size: 12px; overflow-wrap: anywhere; }
.p-point-more { margin: 8px; }
`;

interface CheckpointsProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly onLeave: () => void;
}

export function CheckpointsDialog({ session, gateway, onLeave }: CheckpointsProps) {
  adoptStyles(CSS);
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

interface ListProps {
  readonly points: readonly Checkpoint[];
  readonly chosen: Signal<Checkpoint | undefined>;
}

function List({ points, chosen }: ListProps) {
  const all = useSignal(false);
  const now = new Date();
  const shown = all.value ? points : points.filter(({ changed }) => changed !== 0);
  const hidden = points.length - shown.length;
  return (
    <div class="p-points-list">
      {groupsOf(shown).map(({ title, members }) => (
        <section key={members[0]?.checkpointId} aria-label={title}>
          <h3 class="p-point-group">{title}</h3>
          <ul aria-label={`Checkpoints of ${title}`}>
            {members.map((point) => (
              <li key={point.checkpointId}>
                <Point point={point} chosen={chosen} now={now} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {shown.length === 0 && <p class="p-soft">No checkpoint has changes after it.</p>}
      {hidden > 0 && (
        <button type="button" class="p-link-button p-point-more" onClick={() => (all.value = true)}>
          Show {countOf(hidden, "checkpoint")} without changes
        </button>
      )}
    </div>
  );
}

interface PointProps {
  readonly point: Checkpoint;
  readonly chosen: Signal<Checkpoint | undefined>;
  readonly now: Date;
}

function Point({ point, chosen, now }: PointProps) {
  const at = point.at === undefined ? undefined : timestampDate(point.at);
  const isChosen = chosen.value?.checkpointId === point.checkpointId;
  return (
    <button
      type="button"
      class={`p-point${isChosen ? " p-point-at" : ""}`}
      aria-pressed={isChosen}
      onClick={() => (chosen.value = point)}
    >
      <span class="p-point-name">{nameOf(point)}</span>
      {point.changedPaths.length > 0 && <span class="p-point-files">{filesOf(point)}</span>}
      <span class="p-point-facts">
        <span>{momentLabel(point.moment)}</span>
        {at !== undefined && (
          <time dateTime={at.toISOString()} title={at.toLocaleString()}>
            {ago(at, now)}
          </time>
        )}
      </span>
    </button>
  );
}

interface CheckpointGroup {
  readonly title: string;
  readonly members: Checkpoint[];
}

/** By session, the one with the newest checkpoint first. */
export function groupsOf(points: readonly Checkpoint[]): readonly CheckpointGroup[] {
  const groups = new Map<string, CheckpointGroup>();
  for (const point of points) {
    const title = point.sessionTitle || (point.sessionId === "" ? "Earlier sessions" : "Deleted session");
    const group = groups.get(point.sessionId) ?? { title, members: [] };
    group.members.push(point);
    groups.set(point.sessionId, group);
  }
  return [...groups.values()];
}

function filesOf({ changedPaths, changed = 0 }: Checkpoint): string {
  const more = changed - changedPaths.length;
  return more > 0 ? `${changedPaths.join(", ")} and ${more} more` : changedPaths.join(", ");
}

function nameOf({ label, moment }: Checkpoint): string {
  return label === "" ? `Checkpoint ${momentLabel(moment)}` : label;
}
