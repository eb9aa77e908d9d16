// Head of a hunk: position, decision, and buttons to accept or reject.

import type { PatchHunk } from "../../model/patch";
import { IconButton } from "../timeline/elements";
import type { ReviewView } from "./review-view";
import { ChoiceBox } from "./choice-box";
import { hunkPosition } from "./review-labels";

interface HunkHeadProps {
  readonly path: string;
  readonly hunk: PatchHunk;
  readonly rowKey: string;
  readonly number: number;
  readonly count: number;
  readonly denied: boolean;
  readonly view: ReviewView;
}

export function HunkHead({ path, hunk, rowKey, number, count, denied, view }: HunkHeadProps) {
  const decisions = view.source.decisions();
  const canChoose = decisions !== undefined && hunk.id !== "" && !denied;
  const decided = canChoose ? decisions.of(path, hunk.id) : undefined;
  const isCurrent = view.cursor.value === rowKey;
  const place = hunkPosition(hunk);
  const decide = (accepted: boolean | undefined): void => {
    view.cursor.value = rowKey;
    decisions?.decide({ path, hunkIds: [hunk.id] }, accepted);
  };
  const state = decided === undefined ? "" : decided ? " p-rh-accepted" : " p-rh-rejected";
  return (
    <div
      class={`p-rh${state}${isCurrent ? " p-rh-current" : ""}`}
      onFocusIn={() => canChoose && (view.cursor.value = rowKey)}
    >
      {canChoose && (
        <ChoiceBox
          label={`Change ${number + 1} of ${count} in ${path}, ${place.toLowerCase()}`}
          chosen={decided !== false}
          isStop
          onChoose={(on) => decide(on)}
        />
      )}
      <span class="p-rh-place">{place}</span>
      <span class="p-rh-where">{hunk.heading}</span>
      {decided !== undefined && <span class="p-rh-state">{decided ? "accepted" : "rejected"}</span>}
      {canChoose && (
        <span class="p-rh-deeds">
          <IconButton
            icon="check"
            label="Accept this change (a)"
            pressed={decided === true}
            act={() => decide(decided === true ? undefined : true)}
          />
          <IconButton
            icon="close"
            label="Reject this change (x)"
            pressed={decided === false}
            act={() => decide(decided === false ? undefined : false)}
          />
        </span>
      )}
    </div>
  );
}
