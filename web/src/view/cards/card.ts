// Properties of cards, and their state while they are out of sight.

import { signal, useComputed, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { ReviewMode } from "../../generated/portico/v1/agent_pb";
import type { Item, SessionModel } from "../../model/types";

export { isActive } from "../shell/turn-state";

export interface NewSession {
  /** Words to begin with: they are put into the composer, not sent. */
  readonly text?: string;
  readonly readsOnly?: boolean;
  /** Review mode of the session; by default that of the settings. */
  readonly mode?: ReviewMode;
  /** Is called once the session is there and has the words. */
  readonly onStarted?: () => void;
}

/** Opens a session in a tab of its own; an empty name is the usual agent. */
export type OnNewSession = (agent: string, start?: NewSession) => void;

export interface CardProps<Kind extends Item = Item> {
  readonly item: Kind;
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly onNewSession: OnNewSession;
  /** Shows another session that is named here. */
  readonly onOpenSession?: (sessionId: string) => void;
}

const kept = new WeakMap<SessionModel, Map<string, Signal<unknown>>>();

/**
 * A value of a card that outlives its place on the screen: the timeline takes cards away as they
 * scroll out of sight, and half an answer must not be lost with them.
 */
export function keptSignal<Value>(session: SessionModel, key: string, first: () => Value): Signal<Value> {
  const values = kept.get(session) ?? new Map<string, Signal<unknown>>();
  kept.set(session, values);
  const known = values.get(key) ?? signal<unknown>(first());
  values.set(key, known);
  return known as Signal<Value>;
}

export function discardKept(session: SessionModel, key: string): void {
  kept.get(session)?.delete(key);
}

/** Whether nothing was asked of the agent since, so that the card's actions still make sense. */
export function useIsLatest(item: Item, session: SessionModel): ReadonlySignal<boolean> {
  return useComputed(() => isLatest(item, session.items.value));
}

export function isLatest(item: Item, items: readonly Item[]): boolean {
  const later = items.findLast((other) => other.type === "prompt" || other.type === item.type);
  return later === undefined || later.firstSeq <= item.firstSeq;
}

/** The last thing the person asked for, as far as it is loaded. */
export function lastPrompt(session: SessionModel): string {
  return session.items.peek().findLast((item) => item.type === "prompt")?.text ?? "";
}
