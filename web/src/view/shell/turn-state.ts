// Labels and groups of turn states.

import { TurnState } from "../../generated/portico/v1/events_pb";

export type TurnMood = "quiet" | "busy" | "waiting" | "bad";

export function moodOf(state: TurnState): TurnMood {
  switch (state) {
    case TurnState.STARTING:
    case TurnState.RUNNING:
    case TurnState.STREAMING:
    case TurnState.RESUMING:
      return "busy";
    case TurnState.AWAITING:
      return "waiting";
    case TurnState.FAILED:
    case TurnState.INTERRUPTED:
      return "bad";
    case TurnState.UNSPECIFIED:
    case TurnState.IDLE:
    case TurnState.COMPLETED:
    case TurnState.CANCELED:
      return "quiet";
  }
}

export function isActive(state: TurnState): boolean {
  const mood = moodOf(state);
  return mood === "busy" || mood === "waiting";
}

export function turnStateLabel(state: TurnState): string {
  switch (state) {
    case TurnState.STARTING:
      return "starting";
    case TurnState.RUNNING:
    case TurnState.STREAMING:
      return "working";
    case TurnState.RESUMING:
      return "resuming";
    case TurnState.AWAITING:
      return "waiting for you";
    case TurnState.FAILED:
      return "failed";
    case TurnState.INTERRUPTED:
      return "interrupted";
    case TurnState.CANCELED:
      return "stopped";
    case TurnState.COMPLETED:
      return "done";
    case TurnState.UNSPECIFIED:
    case TurnState.IDLE:
      return "new";
  }
}
