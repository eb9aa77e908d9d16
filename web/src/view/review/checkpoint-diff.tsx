// Changes since a checkpoint: file count, file list and diff.

import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { GetCheckpointDiffResponse } from "../../generated/portico/v1/agent_pb";
import { countOf } from "../../model/review-actions";
import { isFailure, type ReviewStatus } from "../../model/review-status";
import type { Failure } from "../../model/types";
import { DiffCounts } from "../timeline/diff-view";
import { Icon } from "../timeline/elements";
import { DiffList } from "./diff-list";
import { FileName } from "./file-head";
import { totalOf } from "./proposal-card";
import { ReviewView } from "./review-view";

export type CheckpointChanges = GetCheckpointDiffResponse | Failure | undefined;

/** Undefined until they are here. */
export function useCheckpointChanges(
  status: ReviewStatus,
  checkpointId: string | undefined,
): Signal<CheckpointChanges> {
  const changes = useSignal<CheckpointChanges>(undefined);
  useEffect(() => {
    changes.value = undefined;
    if (checkpointId === undefined) return undefined;
    let isWanted = true;
    void status.changesSince(checkpointId).then((found) => {
      if (isWanted) changes.value = found;
    });
    return () => {
      isWanted = false;
    };
  }, [status, checkpointId]);
  return changes;
}

/** Summary of what a restore would change, in one line. */
export function ChangesLine({ changes }: { readonly changes: CheckpointChanges }) {
  if (changes === undefined) {
    return (
      <p class="p-soft" role="status">
        <Icon name="loading" spinning /> Loading changes…
      </p>
    );
  }
  if (isFailure(changes)) return <p class="p-form-problem">{changes.message}</p>;
  const count = changes.files.length + changes.unlisted;
  if (count === 0) return <p role="status">No changes since then.</p>;
  return (
    <p class="p-back-count" role="status">
      <strong>{countOf(count, "file")}</strong> {count === 1 ? "has" : "have"} changed since then{" "}
      <DiffCounts counts={totalOf(changes.files)} />
    </p>
  );
}

export function ChangedFiles({ changes }: { readonly changes: GetCheckpointDiffResponse }) {
  return (
    <ul class="p-proposal-files p-back-files" aria-label="Files changed since">
      {changes.files.map((file) => (
        <li key={file.path} class="p-proposal-file">
          <FileName file={file} />
          <DiffCounts counts={file} />
        </li>
      ))}
    </ul>
  );
}

/** The lines themselves, to be looked at. */
export function ChangedLines({
  changes,
  split,
}: {
  changes: GetCheckpointDiffResponse;
  split: Signal<boolean>;
}) {
  const files = useSignal(changes.files);
  files.value = changes.files;
  const view = useMemo(
    () => new ReviewView({ files, contents: () => undefined, decisions: () => undefined }, split),
    [files, split],
  );
  return <DiffList view={view} label="Changes since" openFile={undefined} />;
}
