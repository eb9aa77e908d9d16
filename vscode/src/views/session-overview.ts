// Summary of what waits in the sessions of a folder.

import type { SessionSummary } from "../../../web/src/generated/portico/v1/agent_pb";
import { reviewText } from "../../../web/src/model/session-summary";

type Waiting = Pick<SessionSummary, "toReview" | "hasDraft">;

/** Such as "3 to review · 2 drafts"; empty if nothing waits. */
export function sessionOverview(sessions: readonly Waiting[]): string {
  const toReview = sessions.reduce((sum, session) => sum + session.toReview, 0);
  const drafts = sessions.filter(({ hasDraft }) => hasDraft).length;
  const draftText = drafts === 0 ? "" : drafts === 1 ? "1 draft" : `${drafts} drafts`;
  return [reviewText({ toReview }), draftText].filter((part) => part !== "").join(" · ");
}

/** The badge of a view; none if there is nothing to count. */
export function countBadge(
  value: number,
  one: string,
  more: string,
): { value: number; tooltip: string } | undefined {
  return value === 0 ? undefined : { value, tooltip: `${value} ${value === 1 ? one : more}` };
}
