// A notice in the timeline.

import { NoticeLevel } from "../../generated/portico/v1/events_pb";
import { parseJson } from "../../model/json";
import type { NoticeItem } from "../../model/types";
import type { CardProps } from "./card";
import { Disclosure } from "./disclosure";
import { inputText } from "./permission-labels";

export function NoticeLine({ item }: CardProps<NoticeItem>) {
  const { level, text, fromAgent, count, details } = item.notice;
  const rawJson = isToldInFull(item.notice.rawJson) ? undefined : item.notice.rawJson;
  const words = count > 1 ? `${text} (×${count})` : text;
  const more = details.trim() !== "" || rawJson !== undefined;
  const line = (
    <>
      <i class={`codicon codicon-${iconOf(level)}`} aria-hidden="true" />
      <span>
        {fromAgent && <span class="p-aloud">The agent says: </span>}
        {words}
      </span>
    </>
  );
  return (
    <div class={`p-notice p-notice-${toneOf(level)}`}>
      {more ? (
        <Disclosure label={details.trim() === "" ? "Raw message" : "Details"} line={line}>
          {details.trim() !== "" && <pre class="p-mono p-details-code">{details.trimEnd()}</pre>}
          {rawJson !== undefined && <pre class="p-mono p-details-code">{inputText(rawJson)}</pre>}
        </Disclosure>
      ) : (
        <div class="p-line">{line}</div>
      )}
    </div>
  );
}

/** Whether the text says all of the message: a notice of the protocol has nothing but words. */
export function isToldInFull(rawJson: string | undefined): boolean {
  const raw = parseJson(rawJson);
  return typeof raw === "object" && raw !== null && "sessionUpdate" in raw && raw.sessionUpdate === "notice";
}

function toneOf(level: NoticeLevel): string {
  if (level === NoticeLevel.ERROR) return "bad";
  return level === NoticeLevel.WARNING ? "warning" : "info";
}

function iconOf(level: NoticeLevel): string {
  if (level === NoticeLevel.ERROR) return "error";
  return level === NoticeLevel.WARNING ? "warning" : "info";
}
