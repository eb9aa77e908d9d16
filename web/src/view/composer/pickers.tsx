// The row of choices for the next turn: agent, model, mode and whatever else the agent lets people set.
// What has no room stands in a menu.

import { useComputed, type ReadonlySignal } from "@preact/signals";
import type { Agent } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import { agentChoices, ordered } from "./choices";
import { MoreOptions } from "./more-options";
import { OptionControl } from "./option-control";
import { Picker } from "./picker";
import type { AgentName } from "./text-field";

interface PickersProps {
  readonly session: SessionModel;
  readonly agents: ReadonlySignal<readonly Agent[]>;
  readonly agent: ReadonlySignal<AgentName>;
  /** How many have a place in the row. */
  readonly room: ReadonlySignal<number>;
  readonly onNewSession: (agent: string) => void;
}

export function Pickers({ session, agents, agent, room, onNewSession }: PickersProps) {
  const all = useComputed(() => session.detail.value?.options ?? []);
  const usable = useComputed(() => session.detail.value?.openElsewhere !== true);
  const options = usable.value ? ordered(all.value) : [];
  const { name, title } = agent.value;
  // A menu for a single one would take as much room as that one itself.
  const inRow = options.length <= room.value ? options.length : room.value - 1;
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
        <OptionControl key={option.optionId} option={option} session={session} />
      ))}
      {inRow < options.length && <MoreOptions options={options.slice(inRow)} session={session} />}
    </div>
  );
}
