// What has become of sessions since the last look, for whoever looks elsewhere.

import type { SessionSummary } from "../../../web/src/generated/portico/v1/agent_pb";
import { TurnState } from "../../../web/src/generated/portico/v1/events_pb";
import { moodOf } from "../../../web/src/view/shell/state-words";
import type { Sessions } from "./live";

export interface News {
  readonly session: SessionSummary;
  readonly kind: "asks" | "ended" | "failed";
}

/** A session that was not known before is news only if it waits for somebody. */
export function newsBetween(before: Sessions, now: Sessions): readonly News[] {
  return [...now.values()].flatMap((session) => {
    const earlier = before.get(session.sessionId);
    const kind = earlier === session ? undefined : kindOf(earlier, session);
    return kind === undefined ? [] : [{ session, kind }];
  });
}

export function isActive(state: TurnState): boolean {
  const mood = moodOf(state);
  return mood === "busy" || mood === "waiting";
}

function kindOf(before: SessionSummary | undefined, now: SessionSummary): News["kind"] | undefined {
  if (now.waiting > (before?.waiting ?? 0)) return "asks";
  if (before === undefined || !isActive(before.state) || isActive(now.state)) return undefined;
  if (now.state === TurnState.COMPLETED) return "ended";
  return moodOf(now.state) === "bad" ? "failed" : undefined;
}

export function nameOf({ title }: SessionSummary): string {
  return title === "" ? "New session" : title;
}
