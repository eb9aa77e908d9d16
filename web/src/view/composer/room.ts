// How much room the composer has: for its text in height, for its choices in width.

import { useSignal, type ReadonlySignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** How many choices stand in the row before the others go into a menu. */
export function choicesIn(width: number): number {
  if (width < 380) return 2;
  if (width < 560) return 3;
  return width < 720 ? 4 : 5;
}

/** Follows the size of the panel that the composer stands in; the text may fill two fifths of it. */
export function useRoom(frame: RefObject<HTMLElement | null>): ReadonlySignal<number> {
  const room = useSignal(3);
  useLayoutEffect(() => {
    const composer = frame.current;
    const panel = composer?.parentElement;
    if (composer === null || panel === null || panel === undefined) return undefined;
    const measure = (): void => {
      room.value = choicesIn(composer.clientWidth);
      composer.style.setProperty(
        "--p-composer-most",
        `${Math.max(60, Math.round(panel.clientHeight * 0.4))}px`,
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(panel);
    return () => observer.disconnect();
  }, [frame, room]);
  return room;
}
