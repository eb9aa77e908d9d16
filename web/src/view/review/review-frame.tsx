// The conversation with a review beside it; where there is no room for both, the review covers it.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { reviewOf } from "../../model/review";
import type { SessionModel } from "../../model/types";
import { focusComposer } from "../shell/composer-focus";
import { ProposalAnnouncer } from "./aloud";
import { ReviewPanel } from "./review-panel";
import { useRoomBeside } from "./room";

interface ReviewFrameProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly children: ComponentChildren;
}

export function ReviewFrame({ session, gateway, children }: ReviewFrameProps) {
  const frame = useRef<HTMLDivElement>(null);
  const over = !useRoomBeside(frame);
  const review = reviewOf(session, gateway);
  const reviewed = review.open.value !== undefined;
  useFocusBack(reviewed);
  return (
    <div ref={frame} class="p-frame">
      <div class={`p-talk${reviewed && !over ? " p-talk-beside" : ""}`} inert={reviewed && over}>
        {children}
      </div>
      <ProposalAnnouncer session={session} />
      {reviewed && (
        <ReviewPanel
          review={review}
          workspace={session.detail.value?.summary?.workspace ?? ""}
          gateway={gateway}
          over={over}
        />
      )}
    </div>
  );
}

/** Whoever leaves the review goes on where they were before it, or else where they write. */
function useFocusBack(reviewed: boolean): void {
  const opener = useRef<Element | null>(null);
  useLayoutEffect(() => {
    if (!reviewed) return undefined;
    opener.current = document.activeElement;
    return () => {
      const back = opener.current;
      // What opened the review can be used again only once it is drawn without it.
      requestAnimationFrame(() => {
        if (document.activeElement !== document.body) return;
        if (back instanceof HTMLElement && back.isConnected) back.focus();
        if (document.activeElement === document.body) focusComposer();
      });
    };
  }, [reviewed]);
}
