// Title and time of change of a session.

import type { SessionSummary } from "../generated/portico/v1/agent_pb";

export function sessionTitle({ title }: Pick<SessionSummary, "title">): string {
  return title === "" ? "New session" : title;
}

/** Number of files that wait for review, as text; empty if none do. */
export function reviewText({ toReview }: Pick<SessionSummary, "toReview">): string {
  return toReview === 0 ? "" : `${toReview} to review`;
}

/** Time of the last change in microseconds, so that two changes keep their order. */
export function changedAt({ updatedAt }: SessionSummary): number {
  return updatedAt === undefined ? 0 : Number(updatedAt.seconds) * 1e6 + Math.floor(updatedAt.nanos / 1e3);
}
