// Registry of timelines that can scroll to a request of the agent, or to a message.

import type { SessionModel } from "../../model/types";

export type RevealTarget = { readonly requestId: string } | { readonly seq: number };

const timelines = new WeakMap<SessionModel, (target: RevealTarget) => void>();
const waiting = new WeakMap<SessionModel, RevealTarget>();

/** Brings the card of a request into view, if its timeline is on the page. */
export function revealRequest(session: SessionModel, requestId: string): void {
  timelines.get(session)?.({ requestId });
}

/** Brings the message with an event into view, as soon as its timeline is on the page. */
export function revealMessage(session: SessionModel, seq: number): void {
  const reveal = timelines.get(session);
  if (reveal === undefined) waiting.set(session, { seq });
  else reveal({ seq });
}

/** A timeline offers itself; the answer takes it back. */
export function registerReveal(session: SessionModel, reveal: (target: RevealTarget) => void): () => void {
  timelines.set(session, reveal);
  const target = waiting.get(session);
  waiting.delete(session);
  if (target !== undefined) reveal(target);
  return () => {
    if (timelines.get(session) === reveal) timelines.delete(session);
  };
}
