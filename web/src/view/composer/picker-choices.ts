// Choices of the next turn: order and labels.

import type { Agent } from "../../generated/portico/v1/agent_pb";
import type { ConfigOption } from "../../generated/portico/v1/events_pb";
import type { Choice } from "./picker";

const ORDER = ["model", "mode", "thought_level", "model_config"];

/** Options that people change most come first, then the agent's order. */
export function sortOptions(options: readonly ConfigOption[]): readonly ConfigOption[] {
  const rank = ({ category }: ConfigOption): number => {
    const place = ORDER.indexOf(category);
    return place < 0 ? ORDER.length : place;
  };
  return options.toSorted((one, other) => rank(one) - rank(other));
}

export function labelOf({ name, optionId }: ConfigOption): string {
  return name === "" ? optionId : name;
}

export function choicesOf(option: ConfigOption): readonly Choice[] {
  return option.choices.map(({ value, name, description }) => ({
    value,
    name: name === "" ? value : name,
    description,
  }));
}

/** Agents that are not installed come last, with how to install them. */
export function agentChoices(agents: readonly Agent[]): readonly Choice[] {
  const order = agents.toSorted((one, other) => Number(other.installed) - Number(one.installed));
  return order.map(({ name, title, installed, installHint }) => ({
    value: name,
    name: title === "" ? name : title,
    description: installed ? "" : `Not installed. ${installHint}`.trim(),
  }));
}
