// Card about files that changed outside of the review during a turn, with the way to restore them.

import { useSignal } from "@preact/signals";
import { NoticeLevel } from "../../generated/portico/v1/events_pb";
import type { NoticeItem } from "../../model/types";
import type { CardProps } from "../cards/card";
import { lazy } from "../lazy";

const RestoreDialog = lazy(() => import("./restore-dialog").then((module) => module.RestoreDialog));

/** The code of the notices that this card shows. */
export const CHANGED_OUTSIDE_REVIEW = "changed_outside_review";

const TITLE = "Files changed outside the review";

export function OutsideChangesCard({ item, session, gateway }: CardProps<NoticeItem>) {
  const asking = useSignal(false);
  const { text, details, level, checkpointId } = item.notice;
  const tone = level === NoticeLevel.WARNING ? "warning" : "info";
  return (
    <div class={`p-card p-card-${tone} p-outside`} role="group" aria-label={TITLE}>
      <p class="p-card-title">
        <i class={`codicon codicon-${tone}`} aria-hidden="true" />
        <span class="p-card-words">{TITLE}</span>
      </p>
      <p class="p-card-about">{text}</p>
      <ul class="p-outside-files">
        {details.split("\n").map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {checkpointId !== undefined && (
        <>
          <p class="p-card-about p-soft">If you made these changes, there is nothing to do.</p>
          <div class="p-card-actions">
            <button type="button" class="p-button" onClick={() => (asking.value = true)}>
              Restore…
            </button>
          </div>
        </>
      )}
      {asking.value && checkpointId !== undefined && (
        <RestoreDialog
          session={session}
          gateway={gateway}
          checkpointId={checkpointId}
          action="Restore files"
          label={text}
          leftOut={0}
          onLeave={() => (asking.value = false)}
        />
      )}
    </div>
  );
}
