// Whether a turn is under way, as far as the composer cares.

import { TurnState } from "../../generated/portico/v1/events_pb";

const ACTIVE: ReadonlySet<TurnState> = new Set([
  TurnState.STARTING,
  TurnState.RUNNING,
  TurnState.STREAMING,
  TurnState.AWAITING,
  TurnState.RESUMING,
]);

export function isActive(state: TurnState): boolean {
  return ACTIVE.has(state);
}
