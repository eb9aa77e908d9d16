// The row of tabs, one session each.

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { SessionSummary } from "../../generated/portico/v1/agent_pb";
import { TurnState } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import type { AppModel } from "./app-model";
import { ReviewBadge } from "./review-badge";
import { moodOf, turnStateLabel } from "./turn-state";

export function TabBar({ app }: { app: AppModel }) {
  const { open, active } = app.tabs.tabs.value;
  const known = app.known.value;
  const strip = useRef<HTMLDivElement>(null);
  useFrontInSight(strip);
  return (
    <div
      ref={strip}
      class="p-tabs"
      role="tablist"
      aria-label="Sessions"
      onWheel={(event) => event.currentTarget.scrollBy({ left: event.deltaY })}
    >
      {open.map((sessionId, place) => (
        <Tab
          key={sessionId}
          app={app}
          sessionId={sessionId}
          place={place}
          summary={known.get(sessionId)}
          active={sessionId === active}
        />
      ))}
    </div>
  );
}

/** The tab in front stays in sight when the strip gets narrower. */
function useFrontInSight(strip: RefObject<HTMLDivElement | null>): void {
  useEffect(() => {
    const element = strip.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() =>
      element.querySelector(".p-tab-active")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [strip]);
}

interface TabProps {
  readonly app: AppModel;
  readonly sessionId: string;
  readonly place: number;
  readonly summary: SessionSummary | undefined;
  readonly active: boolean;
}

function Tab({ app, sessionId, place, summary, active }: TabProps) {
  const front = app.front.value;
  const live = active && front?.id === sessionId ? front : undefined;
  const state = live?.state.value ?? summary?.state ?? TurnState.IDLE;
  const named = app.titleOf(sessionId);
  const title = named === "" ? unnamed(summary, live) : named;
  const drafted = live === undefined ? summary?.hasDraft === true : live.draft.value.trim() !== "";
  const unread = app.unread.value.has(sessionId);
  const tab = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (active) tab.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [active]);
  return (
    <div
      ref={tab}
      class={`p-tab${active ? " p-tab-active" : ""}`}
      role="tab"
      id={`tab-${sessionId}`}
      aria-selected={active}
      aria-controls={active ? "p-pane" : undefined}
      aria-keyshortcuts="Delete"
      tabIndex={active ? 0 : -1}
      title={`${title} — ${turnStateLabel(state)}${drafted ? ", with a draft" : ""}`}
      draggable
      onClick={() => app.openSession(sessionId)}
      onAuxClick={(event) => {
        if (event.button === 1) app.closeTab(sessionId);
      }}
      onKeyDown={(event) => onTabKey(event, app, sessionId, place)}
      onDragStart={(event) => event.dataTransfer?.setData("text/x-portico-tab", sessionId)}
      onDragOver={(event) => {
        if (event.dataTransfer?.types.includes("text/x-portico-tab") === true) event.preventDefault();
      }}
      onDrop={(event) => {
        const moved = event.dataTransfer?.getData("text/x-portico-tab");
        if (moved !== undefined && moved !== "") app.tabs.move(moved, place);
      }}
    >
      <span class={`p-dot p-dot-${moodOf(state)}${unread ? " p-dot-unread" : ""}`} aria-hidden="true" />
      <span class="p-tab-title" dir="auto">
        {title}
      </span>
      <ReviewBadge session={summary} />
      {drafted && <span class="p-tab-draft">Draft</span>}
      <span class="p-aloud">{turnStateLabel(state)}</span>
      {/* For the mouse: nothing inside a tab can be reached by keys, which close it with Delete. */}
      <span
        class="p-icon-button p-tab-close"
        title="Close"
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation();
          app.closeTab(sessionId);
        }}
      >
        <i class="codicon codicon-close" />
      </span>
    </div>
  );
}

/** A session of which nothing is known yet is not a new one. */
function unnamed(summary: SessionSummary | undefined, live: SessionModel | undefined): string {
  return summary === undefined && live?.detail.value === undefined ? "…" : "New session";
}

function onTabKey(event: KeyboardEvent, app: AppModel, sessionId: string, place: number): void {
  const moving = event.ctrlKey && event.shiftKey;
  switch (event.key) {
    case "ArrowRight":
      if (moving) app.tabs.move(sessionId, place + 1);
      else app.tabs.next();
      break;
    case "ArrowLeft":
      if (moving) app.tabs.move(sessionId, place - 1);
      else app.tabs.previous();
      break;
    case "Delete":
      app.closeTab(sessionId);
      break;
    case "Enter":
    case " ":
      app.openSession(sessionId);
      break;
    default:
      return;
  }
  event.preventDefault();
  requestAnimationFrame(() => {
    document.querySelector<HTMLElement>(".p-tab-active")?.focus();
  });
}
