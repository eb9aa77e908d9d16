// What every row is given besides its own items.

import type { Signal } from "@preact/signals";
import type { Gateway } from "../../gateway/types";
import type { SessionModel } from "../../model/types";
import { keptSignal, type OnNewSession } from "../cards/card";

export interface RowContext {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly onNewSession: OnNewSession;
  /** The folder of the session. */
  readonly workspace: string;
}

/** What the person opened or closed; undefined as long as they did neither. Outlives the row's place on the page. */
export function keptOpen({ session }: RowContext, key: string): Signal<boolean | undefined> {
  return keptSignal<boolean | undefined>(session, `open ${key}`, () => undefined);
}

/** Puts words into the composer. Words that are there already are not lost. */
export function putIntoDraft(session: SessionModel, words: string): void {
  const before = session.draft.peek();
  const keeps = before.trim() !== "" && before.trim() !== words.trim();
  session.draft.value = keeps ? `${before.trimEnd()}\n\n${words}` : words;
  document.querySelector<HTMLTextAreaElement>(".p-composer-text")?.focus();
}
