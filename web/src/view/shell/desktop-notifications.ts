// Desktop notifications about sessions, if the user enabled them.

import { noticeText, type SessionNotice } from "./session-notices";
import { sessionTitle } from "../../model/session-summary";

/** Whether notifications are available: an editor's webview has none. */
export function canNotify(): boolean {
  return "Notification" in globalThis;
}

/** Asks the person's permission, once; false if they said no. */
export async function requestPermission(): Promise<boolean> {
  if (!canNotify()) return false;
  const permission =
    Notification.permission === "default" ? await Notification.requestPermission() : Notification.permission;
  return permission === "granted";
}

/** Contains nothing of the conversation, because others may see a notification. */
export function notify(news: SessionNotice, onOpen: (sessionId: string) => void): void {
  if (!canNotify() || Notification.permission !== "granted") return;
  const shown = new Notification(`${sessionTitle(news)} ${noticeText(news.kind)}`, { tag: news.sessionId });
  shown.onclick = () => {
    window.focus();
    onOpen(news.sessionId);
    shown.close();
  };
}
