// Words and icons for components and their state, for the page and for VS Code.

import { ComponentState, type Component } from "../../generated/portico/v1/agent_pb";

export function componentIcon(state: ComponentState): string {
  switch (state) {
    case ComponentState.ON:
      return "check";
    case ComponentState.IDLE:
      return "dash";
    case ComponentState.FAILED:
      return "warning";
    case ComponentState.OFF:
    case ComponentState.UNSPECIFIED:
      return "blank";
  }
}

/** Summary of a component that is on, or the reason why it is off. */
export function componentDetail({ state, reason, summary }: Component): string {
  if (state === ComponentState.FAILED) return `Failed: ${reason}`;
  if (state === ComponentState.IDLE) return `Idle: ${reason}`;
  return summary;
}

/** Source of the switch that turned it on or off; empty if there is none. */
export function switchedBy({ state, reason }: Component): string {
  const isSwitched = state === ComponentState.ON || state === ComponentState.OFF;
  return isSwitched && reason !== "default" ? reason : "";
}
