// Notices about sessions: a request, an end, a failure.

import type { SessionSummary } from "../../generated/portico/v1/agent_pb";
import { TurnState } from "../../generated/portico/v1/events_pb";
import type { NoticeKind } from "../preferences";
import { isActive } from "./turn-state";
import type { SummaryMap } from "./session-summaries";

export interface SessionNotice {
  readonly sessionId: string;
  readonly title: string;
  readonly kind: NoticeKind;
}

/** A session that was not known before is no news. */
export function noticesBetween(before: SummaryMap, now: SummaryMap): readonly SessionNotice[] {
  const news: SessionNotice[] = [];
  for (const [sessionId, session] of now) {
    const earlier = before.get(sessionId);
    if (earlier === undefined || earlier === session) continue;
    const kind = kindOf(earlier, session);
    if (kind !== undefined) news.push({ sessionId, title: session.title, kind });
  }
  return news;
}

function kindOf(before: SessionSummary, now: SessionSummary): SessionNotice["kind"] | undefined {
  if (now.waiting > before.waiting) return "asks";
  // A short turn may begin and end between two summaries.
  if (before.state === now.state || isActive(now.state)) return undefined;
  if (now.state === TurnState.FAILED || now.state === TurnState.INTERRUPTED) return "failed";
  return now.state === TurnState.COMPLETED ? "ended" : undefined;
}

export function noticeText(kind: SessionNotice["kind"]): string {
  switch (kind) {
    case "asks":
      return "is waiting for your answer";
    case "ended":
      return "is done";
    case "failed":
      return "failed";
  }
}
