// Picker of the review mode, at the composer.

import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { reviewOf } from "../../model/review";
import type { SessionModel } from "../../model/types";
import { isActive } from "../cards/card";
import { Picker, type Choice } from "../composer/picker";
import { MODES, modeLabel } from "./review-labels";

export function ModePicker({
  session,
  gateway,
}: {
  readonly session: SessionModel;
  readonly gateway: Gateway;
}) {
  const { status } = reviewOf(session, gateway);
  const summary = session.detail.value?.summary;
  const mode = status.mode.value;
  const isIdle = !isActive(session.state.value);
  useEffect(() => {
    if (summary !== undefined && isIdle) void status.refresh();
  }, [status, summary === undefined, mode, isIdle]);
  if (summary === undefined || summary.readsOnly) return null;
  const told = status.latest.value;
  const possible = new Set(told?.possible ?? MODES.map((one) => one.mode));
  const choices = MODES.map(({ mode: one, value, name, icon, description }): Choice => {
    const disabled = one !== mode && (!isIdle || !possible.has(one));
    return { value, name, icon, description, disabled };
  });
  const { value, name, icon } = modeLabel(mode);
  return (
    <span class="p-mode" onFocusIn={() => void status.refresh()}>
      <Picker
        label="Changes"
        value={value}
        otherwise={name}
        icon={icon}
        choices={choices}
        heading={headingOf(isIdle, told?.hint ?? "")}
        onChoose={(chosen) => {
          const wanted = MODES.find((one) => one.value === chosen);
          if (wanted !== undefined) void status.setMode(wanted.mode);
        }}
      />
    </span>
  );
}

function headingOf(isIdle: boolean, hint: string): string {
  if (!isIdle) return "Available when the agent is done.";
  return hint === "" ? "How changes reach your files" : hint;
}
