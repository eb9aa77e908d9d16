// Messages that match the words in the history's search field.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useEffect, useMemo } from "preact/hooks";
import { MessageKind } from "../../generated/portico/v1/agent_pb";
import { MessageSearch, type MessageHit } from "../../model/message-search";
import { sessionTitle } from "../../model/session-summary";
import type { AppModel } from "./app-model";
import { ago } from "./relative-time";

const KINDS: Record<MessageKind, string> = {
  [MessageKind.UNSPECIFIED]: "",
  [MessageKind.PROMPT]: "You",
  [MessageKind.ANSWER]: "Answer",
  [MessageKind.THOUGHT]: "Thought",
  [MessageKind.TOOL]: "Tool",
  [MessageKind.NOTICE]: "Notice",
  [MessageKind.ERROR]: "Error",
};

export function useMessageSearch(app: AppModel): MessageSearch {
  const search = useMemo(() => new MessageSearch(app.gateway, app.sessions.search), [app]);
  useEffect(() => search.open(), [search]);
  return search;
}

interface MessageHitsProps {
  readonly search: MessageSearch;
  readonly now: Date;
  readonly onOpen: (sessionId: string, seq: number) => void;
}

export function MessageHits({ search, now, onOpen }: MessageHitsProps) {
  const hits = search.hits.value;
  const pending = search.pending.value;
  if (hits.length === 0 && pending === 0 && search.problem.value === "") return null;
  return (
    <section aria-label="Messages">
      <h2 class="p-history-day">Messages</h2>
      {hits.map((one) => (
        <HitEntry key={String(one.hit.number)} found={one} now={now} onOpen={onOpen} />
      ))}
      {search.problem.value !== "" && (
        <p class="p-history-empty p-soft">{`Messages cannot be searched: ${search.problem.value}`}</p>
      )}
      {pending > 0 && (
        <p class="p-history-empty p-soft" role="status">
          {`Indexing older messages: ${pending.toLocaleString()} events left.`}
        </p>
      )}
      {search.more.value && (
        <button type="button" class="p-link-button p-history-more" onClick={() => search.showMore()}>
          Show more messages
        </button>
      )}
    </section>
  );
}

interface HitEntryProps {
  readonly found: MessageHit;
  readonly now: Date;
  readonly onOpen: (sessionId: string, seq: number) => void;
}

function HitEntry({ found: { hit, session }, now, onOpen }: HitEntryProps) {
  const at = hit.at === undefined ? new Date(0) : timestampDate(hit.at);
  return (
    <div class="p-entry">
      <button type="button" class="p-entry-open" onClick={() => onOpen(hit.sessionId, Number(hit.seq))}>
        <span class="p-hit-text" dir="auto">
          {hit.snippet.map(({ text, isMatch }, index) =>
            isMatch ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>,
          )}
        </span>
        <span class="p-entry-facts p-soft">
          <span>{[KINDS[hit.kind], sessionTitle(session)].join(" · ")}</span>
          <time dateTime={at.toISOString()} title={at.toLocaleString()}>
            {ago(at, now)}
          </time>
        </span>
      </button>
    </div>
  );
}
