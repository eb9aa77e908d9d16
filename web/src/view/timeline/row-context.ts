// Context passed to every row.

import type { Signal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { SessionModel } from "../../model/types";
import { keptSignal, type OnNewSession } from "../cards/card";
import { COMPOSER } from "../shell/composer-focus";

export interface RowContext {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly onNewSession: OnNewSession;
  readonly onOpenSession?: (sessionId: string) => void;
  /** Shows another version of this session in its place, at an event. */
  readonly onSwitchSession?: (sessionId: string, seq: number) => void;
  /** The folder of the session. */
  readonly workspace: string;
  /** One element is about to take the place of another that ends with the same text; to be told when it has. */
  readonly exchange?: (before: Element, after: Element) => () => void;
}

/** Whether the person opened or closed the row; undefined if neither. Survives scrolling. */
export function keptOpen(session: SessionModel, key: string): Signal<boolean | undefined> {
  return keptSignal<boolean | undefined>(session, `open ${key}`, () => undefined);
}

/** Puts words into the composer. Words that are there already are not lost. */
export function putIntoDraft(session: SessionModel, words: string): void {
  const before = session.draft.peek();
  const keeps = before.trim() !== "" && before.trim() !== words.trim();
  session.draft.value = keeps ? `${before.trimEnd()}\n\n${words}` : words;
  document.querySelector<HTMLTextAreaElement>(COMPOSER)?.focus();
}
