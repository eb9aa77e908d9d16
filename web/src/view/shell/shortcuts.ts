// Keyboard shortcuts of the page. None of them answers a request that is shown.

import type { AppModel } from "./app-model";
import { isTextInput } from "../text-input";
import { AUTO_ACCEPT_KEYS, CHORD, IS_MAC } from "./shortcut-keys";

export interface Shortcut {
  readonly keys: string;
  readonly description: string;
}

/** Targets of the shortcuts, besides the sessions. */
export interface ShortcutTargets {
  readonly newSession: () => void;
  readonly showHistory: () => void;
  readonly showKeys: () => void;
  readonly showRequest: () => void;
  readonly showReview: () => void;
  readonly toggleAutoAccept: () => void;
}

export const SHORTCUTS: readonly Shortcut[] = [
  { keys: "Enter", description: "send, or queue while the agent works" },
  { keys: "Shift+Enter", description: "new line" },
  { keys: "Esc", description: "close a menu, or stop the agent" },
  { keys: "↑", description: "in an empty composer: earlier prompts" },
  { keys: "/  @", description: "commands, files" },
  { keys: IS_MAC ? "⌘F" : "Ctrl+F", description: "find in the conversation" },
  { keys: `${CHORD}A`, description: "go to the waiting request; then A to allow, R to reject" },
  { keys: AUTO_ACCEPT_KEYS, description: "auto-accept edits in this session, or stop that" },
  { keys: `${CHORD}R`, description: "open or close the review" },
  { keys: "j  k", description: "in a review: next, previous change; n and p for files" },
  { keys: "a  x  u", description: "in a review: accept, reject, undo" },
  { keys: "Enter  r", description: "in a review: apply the selection, ask to revise" },
  { keys: `${CHORD}N`, description: "new session" },
  { keys: `${CHORD}←  →`, description: "previous, next tab" },
  { keys: `${CHORD}W`, description: "close the tab" },
  { keys: `${CHORD}T`, description: "reopen the last closed tab" },
  { keys: `${CHORD}H`, description: "history" },
  { keys: "Ctrl+Shift+←  →", description: "on a tab: move it" },
  { keys: "?  F1", description: "show these shortcuts" },
];

export function onShortcut(event: KeyboardEvent, app: AppModel, places: ShortcutTargets): void {
  if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]") !== null) return;
  const act = actionFor(event, app, places);
  if (act === undefined) return;
  event.preventDefault();
  act();
}

function actionFor(event: KeyboardEvent, app: AppModel, places: ShortcutTargets): (() => void) | undefined {
  // In an editor this key is the editor's own.
  if (event.key === "F1") return app.gateway.onCommand === undefined ? places.showKeys : undefined;
  const chord = (event.ctrlKey || event.metaKey) && event.altKey;
  if (!chord) return event.key === "?" && !isTextInput(event.target) ? places.showKeys : undefined;
  const { active } = app.tabs.tabs.peek();
  switch (event.code) {
    case "KeyA":
      return places.showRequest;
    case "KeyR":
      return places.showReview;
    case "KeyE":
      return places.toggleAutoAccept;
    case "KeyN":
      return places.newSession;
    case "KeyH":
      return places.showHistory;
    case "KeyT":
      return () => void app.tabs.reopen();
    case "KeyW":
      return active === undefined ? undefined : () => app.closeTab(active);
    case "ArrowRight":
      return () => app.tabs.next();
    case "ArrowLeft":
      return () => app.tabs.previous();
    default:
      return undefined;
  }
}
