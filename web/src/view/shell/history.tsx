// List of all sessions: searchable, grouped by day, live.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ExportFormat, type SessionSummary } from "../../generated/portico/v1/agent_pb";
import { isActive } from "../cards/card";
import { useFocusRetention } from "../focus-retention";
import { lazy } from "../lazy";
import type { AppModel } from "./app-model";
import { focusComposer } from "./composer-focus";
import { MessageHits, useMessageSearch } from "./message-hits";
import { ago, byDay } from "./relative-time";
import { ReviewBadge } from "./review-badge";
import { moodOf, turnStateLabel } from "./turn-state";
import { IconButton } from "../timeline/elements";
import { sessionTitle } from "../../model/session-summary";

interface HistoryProps {
  readonly app: AppModel;
  /** It covers the session, and goes when one was chosen. */
  readonly over: boolean;
  readonly takesFocus: boolean;
  readonly onLeave: () => void;
}

const SearchFilters = lazy(() => import("./search-filters").then((module) => module.SearchFilters));

export function History({ app, over, takesFocus, onLeave }: HistoryProps) {
  const search = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const place = useRef(0);
  const part = useRef<HTMLElement>(null);
  const now = useNow();
  const removed = new Set(app.removals.pending.value.map((one) => one.sessionId));
  const shown = app.sessions.sessions.value.filter(
    (one) => !removed.has(one.sessionId) && (!one.isNew || one.hasDraft || one.queued > 0),
  );
  // At once: an effect runs after the next frame, and keys typed until then would go to the composer.
  useLayoutEffect(() => {
    if (takesFocus) search.current?.focus();
  }, []);
  useFocusRetention(part, () => {
    const entries = entriesOf(list.current);
    (entries[Math.min(place.current, entries.length - 1)] ?? search.current)?.focus();
  });
  const messages = useMessageSearch(app);
  const opened = (): void => {
    if (!over) return;
    onLeave();
    focusComposer();
  };
  const chosen = (sessionId: string): void => {
    app.openSession(sessionId);
    opened();
  };
  const foundMessage = (sessionId: string, seq: number): void => {
    app.openMessage(sessionId, seq);
    opened();
  };
  const isEmpty = shown.length === 0 && messages.hits.value.length === 0 && messages.pending.value === 0;
  return (
    <section
      class={`p-history${over ? " p-history-over" : ""}`}
      aria-label="History"
      ref={part}
      onFocusCapture={({ target }) => (place.current = placeOf(list.current, target))}
      onKeyDown={(event) => {
        if (event.isComposing) return;
        if (event.key === "Escape") onLeave();
        else if (event.key === "ArrowDown" || event.key === "ArrowUp") step(list.current, event);
      }}
    >
      <div class="p-history-search">
        <i class="codicon codicon-search" aria-hidden="true" />
        <input
          ref={search}
          class="p-field"
          type="search"
          placeholder="Search sessions"
          aria-label="Search sessions"
          value={app.sessions.search.value}
          onInput={(event) => (app.sessions.search.value = event.currentTarget.value)}
        />
      </div>
      <div class="p-history-list" ref={list}>
        {isEmpty && <p class="p-history-empty p-soft">{emptyWords(app.sessions.search.value)}</p>}
        {groupsOf(shown, now).map(({ day, entries }) => (
          <section key={day} aria-label={day}>
            <h2 class="p-history-day">{day}</h2>
            {entries.map((entry) => (
              <Entry key={entry.sessionId} app={app} session={entry} now={now} onOpen={chosen} />
            ))}
          </section>
        ))}
        {app.sessions.more.value && (
          <button
            type="button"
            class="p-link-button p-history-more"
            onClick={() => void app.sessions.loadMore()}
          >
            Show older sessions
          </button>
        )}
        {app.sessions.search.value.trim() !== "" && <SearchFilters app={app} search={messages} />}
        <MessageHits search={messages} now={now} onOpen={foundMessage} />
      </div>
    </section>
  );
}

interface EntryProps {
  readonly app: AppModel;
  readonly session: SessionSummary;
  readonly now: Date;
  readonly onOpen: (sessionId: string) => void;
}

/** Pinned sessions, then the others by day. */
function groupsOf(sessions: readonly SessionSummary[], now: Date): ReturnType<typeof byDay<SessionSummary>> {
  const pinned = sessions.filter((one) => one.pinned);
  const others = sessions.filter((one) => !one.pinned);
  const days = byDay(others, updated, now);
  return pinned.length === 0 ? days : [{ day: "Pinned", entries: pinned }, ...days];
}

function Entry({ app, session, now, onOpen }: EntryProps) {
  const naming = useSignal(false);
  const at = updated(session);
  const title = sessionTitle(session);
  const folder = session.workspace === app.info.value?.workspace ? "" : session.workspace;
  const facts = [session.agent, folder.split("/").at(-1) ?? "", turnStateLabel(session.state)];
  return (
    <div class={`p-entry${app.front.value?.id === session.sessionId ? " p-entry-active" : ""}`}>
      <button
        type="button"
        class="p-entry-open"
        aria-current={app.front.value?.id === session.sessionId}
        onClick={() => onOpen(session.sessionId)}
      >
        <span class="p-entry-title">
          <span class={`p-dot p-dot-${moodOf(session.state)}`} aria-hidden="true" />
          <span class="p-entry-name" dir="auto" title={title}>
            {title}
          </span>
          <ReviewBadge session={session} />
          {session.hasDraft && <span class="p-tab-draft">Draft</span>}
          {session.queued > 0 && <span class="p-tab-draft">{`${session.queued} queued`}</span>}
        </span>
        <span class="p-entry-facts p-soft">
          <span title={folder}>{facts.filter((fact) => fact !== "").join(" · ")}</span>
          <time dateTime={at.toISOString()} title={at.toLocaleString()}>
            {ago(at, now)}
          </time>
        </span>
      </button>
      {naming.value && <NameField app={app} session={session} naming={naming} />}
      <span class="p-entry-actions p-entry-top">
        <IconButton
          icon={session.pinned ? "pinned" : "pin"}
          label={`${session.pinned ? "Unpin" : "Pin"} ${title}`}
          act={() => void app.sessions.update(session.sessionId, { pinned: !session.pinned })}
        />
        <IconButton icon="rename" label={`Rename ${title}`} act={() => (naming.value = true)} />
      </span>
      <span class="p-entry-actions">
        <IconButton
          icon="markdown"
          label={`Export ${title} as Markdown`}
          act={() => void app.save(session.sessionId, ExportFormat.MARKDOWN)}
        />
        <IconButton
          icon="json"
          label={`Export ${title} as JSON`}
          act={() => void app.save(session.sessionId, ExportFormat.JSON)}
        />
        {!isActive(session.state) && (
          <IconButton
            icon="repo-forked"
            label={`Fork ${title}`}
            act={() => void app.fork(session.sessionId)}
          />
        )}
        {!isActive(session.state) && (
          <IconButton
            icon="arrow-swap"
            label={`Continue ${title} with another agent…`}
            act={() => (app.handingOff.value = session)}
          />
        )}
        <IconButton icon="trash" label={`Delete ${title}`} act={() => void app.remove(session)} />
      </span>
    </div>
  );
}

interface NameFieldProps {
  readonly app: AppModel;
  readonly session: SessionSummary;
  readonly naming: Signal<boolean>;
}

function NameField({ app, session, naming }: NameFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.select(), []);
  const leave = (): void => {
    naming.value = false;
  };
  return (
    <input
      ref={field}
      class="p-field p-entry-rename"
      aria-label={`New name of ${sessionTitle(session)}`}
      defaultValue={session.title}
      onBlur={leave}
      onKeyDown={(event) => {
        if (event.isComposing) return;
        event.stopPropagation();
        const title = event.currentTarget.value.trim();
        if (event.key === "Enter" && title !== "") void app.sessions.update(session.sessionId, { title });
        if (event.key === "Enter" || event.key === "Escape") leave();
      }}
    />
  );
}

function updated(session: SessionSummary): Date {
  return session.updatedAt === undefined ? new Date(0) : timestampDate(session.updatedAt);
}

function emptyWords(search: string): string {
  return search.trim() === "" ? "Your sessions appear here." : "Nothing found.";
}

function entriesOf(list: HTMLElement | null): HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>(".p-entry-open") ?? [])];
}

/** Index of the entry that contains an element; -1 if none does. */
function placeOf(list: HTMLElement | null, target: EventTarget | null): number {
  return entriesOf(list).findIndex(
    (entry) => target instanceof Node && entry.parentElement?.contains(target),
  );
}

function step(list: HTMLElement | null, event: KeyboardEvent): void {
  const entries = entriesOf(list);
  const place = entries.findIndex((entry) => entry === document.activeElement);
  const next = entries[event.key === "ArrowDown" ? place + 1 : Math.max(0, place - 1)];
  if (next === undefined) return;
  next.focus();
  event.preventDefault();
}

/** The time, which moves on by itself while the list is looked at. */
function useNow(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
