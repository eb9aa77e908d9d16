// Options of the next turn: agent, model, mode and other options of the agent. Those that do not fit are in a menu.

import { useComputed, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { Agent } from "../../generated/portico/v1/agent_pb";
import type { ConfigOption } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import { ComponentPicker } from "./component-picker";
import { choiceWidth, countFitting } from "./composer-size";
import { OptionControl, type OptionControlProps } from "./option-control";
import { Picker } from "./picker";
import { agentChoices, choicesOf, labelOf, sortOptions } from "./picker-choices";
import { PopupButton } from "./popup-button";
import type { AgentName } from "./prompt-field";

interface PickersProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly agents: ReadonlySignal<readonly Agent[]>;
  readonly agent: ReadonlySignal<AgentName>;
  /** Of the composer, in pixels. */
  readonly width: ReadonlySignal<number>;
  readonly onNewSession: (agent: string) => void;
}

export function Pickers({ session, gateway, agents, agent, width, onNewSession }: PickersProps) {
  const all = useComputed(() => session.detail.value?.options ?? []);
  const usable = useComputed(() => session.detail.value?.openElsewhere !== true);
  const options = usable.value ? sortOptions(all.value) : [];
  const { name, title } = agent.value;
  const widths = [choiceWidth(title), ...options.map(optionWidth)];
  // The agent is always named, however narrow the composer is.
  const inRow = Math.max(1, countFitting(width.value, widths)) - 1;
  return (
    <div class="p-pickers">
      {name !== "" && (
        <Picker
          label="Agent"
          value={name}
          otherwise={title}
          choices={agentChoices(agents.value)}
          heading="Switching agents starts a new session."
          onChoose={onNewSession}
        />
      )}
      {options.slice(0, inRow).map((option) => (
        <OptionControl key={option.optionId} option={option} session={session} gateway={gateway} />
      ))}
      {inRow < options.length && (
        <MoreOptions options={options.slice(inRow)} session={session} gateway={gateway} />
      )}
      <ComponentPicker session={session} />
    </div>
  );
}

function optionWidth(option: ConfigOption): number {
  const { value } = option;
  if (value.case === "switchedOn") return choiceWidth(labelOf(option), true);
  return choiceWidth(choicesOf(option).find((one) => one.value === value.value)?.name ?? value.value ?? "");
}

interface MoreOptionsProps extends Omit<OptionControlProps, "option"> {
  readonly options: readonly ConfigOption[];
}

export function MoreOptions({ options, ...around }: MoreOptionsProps) {
  return (
    <PopupButton label="More options" icon="ellipsis" panelClass="p-more-options">
      {options.map((option) => (
        <div key={option.optionId} class="p-more-row">
          {option.value.case !== "switchedOn" && <span class="p-soft">{labelOf(option)}</span>}
          <OptionControl option={option} {...around} />
        </div>
      ))}
    </PopupButton>
  );
}
