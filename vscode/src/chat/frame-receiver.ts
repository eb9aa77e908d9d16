// Receives frames from a page. Invalid ones are ignored and logged once.

import { framesFromPage, type PageFrame } from "../../../web/src/gateway/webview-frames";

export function createReceiver(
  take: (frame: PageFrame) => void,
  complain: (words: string) => void,
): (data: unknown) => void {
  let hasComplained = false;
  const leave = (why: string): void => {
    if (!hasComplained) complain(`ignored an invalid message of the chat page: ${why}`);
    hasComplained = true;
  };
  return (data) => {
    const frames = framesFromPage(data);
    if (frames.length === 0) leave("not a frame of this protocol");
    for (const frame of frames) {
      try {
        take(frame);
      } catch (error) {
        leave(error instanceof Error ? error.message : String(error));
      }
    }
  };
}

/** The value as a string. Throws if it is not one. */
export function requireText(value: unknown): string {
  if (typeof value !== "string") throw new Error("expected a text");
  return value;
}
