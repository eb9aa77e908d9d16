// Registry of timelines that can scroll to a request.

import type { SessionModel } from "../../model/types";

const timelines = new WeakMap<SessionModel, (requestId: string) => void>();

/** Brings the card of a request of the agent into view, if its timeline is on the page. */
export function revealRequest(session: SessionModel, requestId: string): void {
  timelines.get(session)?.(requestId);
}

/** A timeline offers itself; the answer takes it back. */
export function registerReveal(session: SessionModel, reveal: (requestId: string) => void): () => void {
  timelines.set(session, reveal);
  return () => {
    if (timelines.get(session) === reveal) timelines.delete(session);
  };
}
