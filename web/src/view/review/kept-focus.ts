// Keeps the keys of a part of the page working when what had the focus in it is drawn no more.

import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

export function useKeptFocus(part: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = part.current;
    if (element === null) return undefined;
    let isHere = element.contains(document.activeElement);
    const follow = ({ target }: FocusEvent): void => {
      isHere = target instanceof Node && element.contains(target);
    };
    const observer = new MutationObserver(() => {
      if (isHere && document.activeElement === document.body) element.focus({ preventScroll: true });
    });
    document.addEventListener("focusin", follow);
    observer.observe(element, { childList: true, subtree: true });
    return () => {
      document.removeEventListener("focusin", follow);
      observer.disconnect();
    };
  }, [part]);
}
