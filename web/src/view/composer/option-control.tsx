// Control of one option of the agent: a switch or a picker.

import type { Gateway } from "../../gateway/gateway";
import type { ConfigOption } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import { canConnectModels, connectDialog } from "../models/connect-state";
import { choicesOf, labelOf } from "./picker-choices";
import { Picker } from "./picker";

export interface OptionControlProps {
  readonly option: ConfigOption;
  readonly session: SessionModel;
  readonly gateway: Gateway;
}

const CONNECT = { value: "\u0000connect", name: "Connect a model…", description: "" };

export function OptionControl({ option, session, gateway }: OptionControlProps) {
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
  const more = canConnectModels(session.detail.value, option) ? [CONNECT] : [];
  return (
    <Picker
      label={label}
      value={value.value ?? ""}
      choices={[...choicesOf(option), ...more]}
      onChoose={(chosen) => {
        if (chosen === CONNECT.value) connectDialog(gateway).value = "model";
        else void session.setOption(optionId, chosen);
      }}
    />
  );
}
