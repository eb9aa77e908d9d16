// Keyboard shortcuts of the timeline. PageUp, PageDown and Home are the browser's own.

import type { TimelineModel } from "./timeline-model";
import { isTextInput } from "../text-input";

/** Anything that covers the conversation. */
const COVER = "dialog[open], [inert] .p-timeline";

export function onTimelineKey(event: KeyboardEvent, model: TimelineModel): void {
  if (document.querySelector(COVER) !== null) return;
  const act = actionFor(event, model);
  if (act === undefined || event.defaultPrevented) return;
  event.preventDefault();
  act();
}

function actionFor(event: KeyboardEvent, model: TimelineModel): (() => void) | undefined {
  const { key, altKey, shiftKey } = event;
  const control = event.ctrlKey || event.metaKey;
  if (control && !altKey && !shiftKey && key.toLowerCase() === "f") return findAction(event, model);
  if (isTextInput(event.target) || control) return undefined;
  const isHere = event.target instanceof Element && event.target.closest(".p-timeline") !== null;
  if ((altKey && key === "ArrowUp") || (isHere && !altKey && key === "k")) return () => model.stepPrompt(-1);
  if ((altKey && key === "ArrowDown") || (isHere && !altKey && key === "j")) return () => model.stepPrompt(1);
  // The browser would go where the end was when the key was pressed.
  if (isHere && !altKey && !shiftKey && key === "End") return () => model.view.scrollToEnd();
  return undefined;
}

/** Pressed again in the box, the key is the browser's own. */
function findAction(event: KeyboardEvent, { finder }: TimelineModel): (() => void) | undefined {
  const isInBox = event.target instanceof Element && event.target.closest(".p-find") !== null;
  if (isInBox) return undefined;
  return () => {
    finder.open.value = true;
    document.querySelector<HTMLInputElement>(".p-find-field")?.select();
  };
}
