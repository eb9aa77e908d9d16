// The row of choices for the next turn: agent, model, mode and whatever else the agent lets people set.
// What has no room stands in a menu.

import { useComputed, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { Agent } from "../../generated/portico/v1/agent_pb";
import type { ConfigOption } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import { agentChoices, choicesOf, labelOf, sortOptions } from "./picker-choices";
import { MoreOptions } from "./more-options";
import { OptionControl } from "./option-control";
import { Picker } from "./picker";
import { countFitting, choiceWidth } from "./composer-size";
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
  // Whoever is talked to is named, however little room there is.
  const inRow = Math.max(1, countFitting(width.value, widths)) - 1;
  return (
    <div class="p-pickers">
      {name !== "" && (
        <Picker
          label="Agent"
          value={name}
          otherwise={title}
          choices={agentChoices(agents.value)}
          heading="Another agent begins a new session."
          onChoose={onNewSession}
        />
      )}
      {options.slice(0, inRow).map((option) => (
        <OptionControl key={option.optionId} option={option} session={session} gateway={gateway} />
      ))}
      {inRow < options.length && (
        <MoreOptions options={options.slice(inRow)} session={session} gateway={gateway} />
      )}
    </div>
  );
}

function optionWidth(option: ConfigOption): number {
  const { value } = option;
  if (value.case === "switchedOn") return choiceWidth(labelOf(option), true);
  return choiceWidth(choicesOf(option).find((one) => one.value === value.value)?.name ?? value.value ?? "");
}
