// The seam between two sessions: where one continues the work of another agent.

import type { NoticeItem } from "../../model/types";
import type { CardProps } from "./card";
import { Disclosure } from "./disclosure";

/** The codes of the notices that are shown as this mark. */
export const CONTINUED_FROM = "continued_from";
export const CONTINUED_WITH = "continued_with";

export function HandOffMark({ item, onOpenSession }: CardProps<NoticeItem>) {
  const { code, text, details, otherSessionId = "" } = item.notice;
  const began = code === CONTINUED_FROM;
  return (
    <div class="p-hand-off" role="group" aria-label="Hand-off">
      <p class="p-mark">
        <span>{text}</span>
      </p>
      <div class="p-hand-off-more">
        {otherSessionId !== "" && onOpenSession !== undefined && (
          <button type="button" class="p-link-button" onClick={() => onOpenSession(otherSessionId)}>
            {began ? "Open the earlier session" : "Open the session that continues"}
          </button>
        )}
        {details.trim() !== "" && (
          <Disclosure label="Summary for the agent">
            <pre class="p-mono p-details-code">{details.trimEnd()}</pre>
          </Disclosure>
        )}
      </div>
    </div>
  );
}
