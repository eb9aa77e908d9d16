// Outcome of the last action in a review.

import type { Signal } from "@preact/signals";
import type { ReviewNotice } from "../../model/review-actions";
import { Icon, IconButton } from "../timeline/elements";

const ICONS = { good: "check", warning: "warning", bad: "error" } as const;

interface NoticeBarProps {
  readonly notice: Signal<ReviewNotice | undefined>;
  /** Takes back what the notice tells of, if that can be. */
  readonly undo?: (() => void) | undefined;
}

export function NoticeBar({ notice, undo }: NoticeBarProps) {
  const said = notice.value;
  return (
    <div class="p-review-notices" role="status">
      {said !== undefined && (
        <div class={`p-review-notice p-review-${said.tone}`}>
          <Icon name={ICONS[said.tone]} />
          <span class="p-review-said">
            {said.text}
            {said.more !== undefined && <span class="p-soft"> {said.more}</span>}
          </span>
          {said.action === "apply" && said.tone === "good" && undo !== undefined && (
            <button type="button" class="p-link-button" onClick={undo}>
              Undo
            </button>
          )}
          <IconButton icon="close" label="Dismiss" act={() => (notice.value = undefined)} />
        </div>
      )}
    </div>
  );
}
