// One thing about the agent that a person may set: a switch, or a choice among a few.

import type { ConfigOption } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import { choicesOf, labelOf } from "./choices";
import { Picker } from "./picker";

export function OptionControl({ option, session }: { option: ConfigOption; session: SessionModel }) {
  const { optionId, value } = option;
  const label = labelOf(option);
  if (value.case === "switchedOn") {
    return (
      <button
        type="button"
        class="p-quiet-button p-switch"
        role="switch"
        aria-checked={value.value}
        aria-label={label}
        title={`${label}: ${value.value ? "on" : "off"}`}
        onClick={() => void session.setOption(optionId, !value.value)}
      >
        <span class="p-switch-track" aria-hidden="true" />
        <span class="p-quiet-text">{label}</span>
      </button>
    );
  }
  return (
    <Picker
      label={label}
      value={value.value ?? ""}
      choices={choicesOf(option)}
      onChoose={(chosen) => void session.setOption(optionId, chosen)}
    />
  );
}
