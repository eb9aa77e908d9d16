// The conversation with a review next to it, or covered by it where there is no room.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { reviewOf } from "../../model/review";
import { countOf } from "../../model/review-actions";
import type { SessionModel } from "../../model/types";
import { lazy } from "../lazy";
import { focusComposer } from "../shell/composer-focus";

const loadPanel = () => import("./review-panel").then((module) => module.ReviewPanel);
const ReviewPanel = lazy(loadPanel);

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
  const hasProposals = (session.detail.value?.proposals.length ?? 0) > 0;
  useEffect(() => {
    // It is there when it is wanted; if the server is away, it is asked for again then.
    if (hasProposals) loadPanel().catch(() => undefined);
  }, [hasProposals]);
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

/** Restores the focus after a review, or moves it to the composer. */
function useFocusBack(reviewed: boolean): void {
  const opener = useRef<Element | null>(null);
  const wasReviewed = useRef(false);
  // While it is rendered: the panel takes the focus as soon as it is drawn.
  if (reviewed && !wasReviewed.current) opener.current = document.activeElement;
  wasReviewed.current = reviewed;
  useLayoutEffect(() => {
    if (!reviewed) return undefined;
    return () => {
      const back = opener.current;
      // The element that opened the review can take the focus only once the page is drawn without the review.
      requestAnimationFrame(() => {
        if (document.activeElement !== document.body) return;
        if (back instanceof HTMLElement && back.isConnected) back.focus();
        if (document.activeElement === document.body) focusComposer();
      });
    };
  }, [reviewed]);
}

export function ProposalAnnouncer({ session }: { readonly session: SessionModel }) {
  const [words, setWords] = useState("");
  useEffect(() => {
    // Proposals from before the session was opened are not news.
    let told: ReadonlyMap<string, number> | undefined;
    return session.detail.subscribe((detail) => {
      if (detail?.summary === undefined) return;
      const { proposals } = detail;
      const news = proposals.find(
        (one) => told !== undefined && (told.get(one.proposalId) ?? 0) < one.revision,
      );
      told = new Map(proposals.map((one) => [one.proposalId, one.revision]));
      if (news !== undefined)
        setWords(`Proposed: ${countOf(news.files.length + news.unlisted, "file")} to review`);
    });
  }, [session]);
  return (
    <div class="p-aloud" aria-live="polite">
      {words}
    </div>
  );
}

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
