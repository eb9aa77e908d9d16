// Keeps the focus in a part of the page when the focused element is removed.

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

type Take = (part: HTMLElement) => void;

const takeItself: Take = (part) => part.focus({ preventScroll: true });

/** Focus that the person moves elsewhere is not moved back. */
export function useFocusRetention(part: RefObject<HTMLElement | null>, take = takeItself): void {
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const element = part.current;
    if (element === null) return undefined;
    let isHere = element.contains(document.activeElement);
    const follow = ({ target }: FocusEvent): void => {
      isHere = target instanceof Node && element.contains(target);
    };
    const left = ({ target }: FocusEvent): void => {
      queueMicrotask(() => {
        if (target instanceof Element && canHaveFocus(target))
          isHere = element.contains(document.activeElement);
      });
    };
    const observer = new MutationObserver(() => {
      if (isHere && document.activeElement === document.body) latest.current(element);
    });
    document.addEventListener("focusin", follow);
    element.addEventListener("focusout", left);
    observer.observe(element, { childList: true, subtree: true });
    return () => {
      document.removeEventListener("focusin", follow);
      element.removeEventListener("focusout", left);
      observer.disconnect();
    };
  }, [part]);
}

function canHaveFocus(element: Element): boolean {
  return element.isConnected && !element.matches(":disabled");
}
