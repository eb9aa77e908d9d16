// Whether a review has room beside the conversation, or has to cover it.

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** A conversation that can be read, and beside it a line of code. */
const ENOUGH = 800;

export function useRoomBeside(pane: RefObject<HTMLElement | null>): boolean {
  const [isEnough, setEnough] = useState(false);
  useLayoutEffect(() => {
    const element = pane.current;
    if (element === null) return undefined;
    const measure = (): void => setEnough(element.clientWidth >= ENOUGH);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [pane]);
  return isEnough;
}
