// The card of a request that waits for an answer, and the line it leaves behind.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { SessionModel } from "../../model/types";
import { discardKept } from "./card";
import { Disclosure } from "./disclosure";

/** The element id of a request's card while it is on the page. */
export function cardId(requestId: string): string {
  return `p-ask-${requestId}`;
}

interface RequestCardProps {
  readonly requestId: string;
  readonly label: string;
  readonly icon: string;
  /** The kind of request, for screen readers. */
  readonly kind?: string;
  readonly title: string;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly children: ComponentChildren;
}

export function RequestCard({ requestId, label, icon, kind, title, onKeyDown, children }: RequestCardProps) {
  return (
    <div
      id={cardId(requestId)}
      class="p-card p-card-asks"
      role="group"
      tabIndex={0}
      aria-label={label}
      {...(onKeyDown && { onKeyDown })}
    >
      <p class="p-card-title">
        <i class={`codicon codicon-${icon}`} aria-hidden="true" />
        {kind !== undefined && <span class="p-aloud">{kind}: </span>}
        <span class="p-card-words">{title}</span>
      </p>
      {children}
    </div>
  );
}

interface RequestTrailProps {
  readonly session: SessionModel;
  /** Kept values of the card, no longer needed. */
  readonly kept: readonly string[];
  /** The request was answered here, so the focus stays here. */
  readonly takesFocus: boolean;
  readonly accepted: boolean;
  readonly text: ComponentChildren;
  readonly detailsLabel: string;
  /** Shown on demand. */
  readonly children?: ComponentChildren;
}

export function RequestTrail(props: RequestTrailProps) {
  const { session, kept, takesFocus, accepted, text, detailsLabel, children } = props;
  const trail = useRef<HTMLDivElement>(null);
  useEffect(() => {
    for (const key of kept) discardKept(session, key);
    if (takesFocus) trail.current?.focus({ preventScroll: true });
  }, []);
  const line = (
    <>
      <i class={`codicon codicon-${accepted ? "check p-good" : "circle-slash"}`} aria-hidden="true" />
      <span>{text}</span>
    </>
  );
  return (
    <div ref={trail} class="p-trail" tabIndex={-1}>
      {children === undefined ? (
        <div class="p-line">{line}</div>
      ) : (
        <Disclosure label={detailsLabel} line={line}>
          {children}
        </Disclosure>
      )}
    </div>
  );
}
