// Size of the composer: height of its text, and how many choices fit its width.

import { useSignal, type ReadonlySignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** All in pixels, and about: what stands in the row besides choices, and what one of those needs. */
const OTHERS = 240;
/** The way that changes take is only an icon there. */
const NARROW = 420;
const OTHERS_IF_NARROW = 170;
const LETTER = 7;
const AROUND_LETTERS = 24;
const SWITCH = 28;
const WIDEST = 180;
const MENU = 28;

/** Width of a choice with this label. */
export function choiceWidth(words: string, isSwitch = false): number {
  return Math.min(WIDEST, words.length * LETTER + AROUND_LETTERS + (isSwitch ? SWITCH : 0));
}

/** Number of choices of these widths that fit the row of the composer; the others go into a menu. */
export function countFitting(width: number, choices: readonly number[]): number {
  const room = width - (width < NARROW ? OTHERS_IF_NARROW : OTHERS);
  const needed = (count: number): number => choices.slice(0, count).reduce((sum, one) => sum + one, 0);
  let count = choices.length;
  while (count > 0 && needed(count) + (count < choices.length ? MENU : 0) > room) count -= 1;
  return count;
}

/** Follows the size of the panel that the composer stands in; the text may fill two fifths of it. */
export function useComposerSize(frame: RefObject<HTMLElement | null>): ReadonlySignal<number> {
  const width = useSignal(0);
  useLayoutEffect(() => {
    const composer = frame.current;
    const panel = composer?.parentElement;
    if (composer === null || panel === null || panel === undefined) return undefined;
    const measure = (): void => {
      width.value = composer.clientWidth;
      composer.style.setProperty(
        "--p-composer-most",
        `${Math.max(60, Math.round(panel.clientHeight * 0.4))}px`,
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(panel);
    return () => observer.disconnect();
  }, [frame, width]);
  return width;
}
