// The timeline of one session with its tools.

import { useComputed, useSignal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { Agent } from "../../generated/portico/v1/agent_pb";
import { spokenText } from "../../markdown/spoken-text";
import type { SessionModel } from "../../model/types";
import type { OnNewSession } from "../cards";
import { lazy } from "../lazy";
import { ModelOfferBelowAnswer } from "../models/model-offer";
import { preferencesOf } from "../preferences";
import { Checklist } from "./checklist";
import { Icon, IconButton } from "./elements";
import { EmptySession, type RecentSessions } from "./empty-session";
import { FindBox } from "./find-box";
import { ProgressLine } from "./progress-line";
import { registerReveal } from "./request-reveal";
import type { RowContext } from "./row-context";
import { RowView } from "./row-view";
import { onTimelineKey } from "./timeline-keys";
import { TimelineModel } from "./timeline-model";

const FollowUps = lazy(() => import("./follow-ups").then((module) => module.FollowUps));

const CheckpointsDialog = lazy(() =>
  import("../review/checkpoints-dialog").then((module) => module.CheckpointsDialog),
);

interface TimelineProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly agents: ReadonlySignal<readonly Agent[]>;
  readonly onNewSession: OnNewSession;
  readonly onOpenSession?: (sessionId: string) => void;
  readonly onSwitchSession?: (sessionId: string, seq: number) => void;
  readonly recent?: RecentSessions;
}

export function Timeline(props: TimelineProps) {
  const { session, gateway } = props;
  const model = useMemo(() => new TimelineModel(session, gateway), [session, gateway]);
  const listed = useSignal(gateway.memory.get("checklistOpen") === true);
  const writing = useSignal(false);
  useEffect(() => registerReveal(session, (target) => model.reveal(target)), [session, model]);
  useEffect(() => listed.subscribe((open) => gateway.memory.set("checklistOpen", open)), [listed, gateway]);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => onTimelineKey(event, model);
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [model]);
  // The mark of a changed mode is not the beginning of a conversation.
  const isEmpty = useComputed(
    () => session.items.value.every(({ type }) => type === "mark") && !session.hasEarlier.value,
  ).value;
  return (
    <div class="p-timeline">
      <Tools model={model} session={session} gateway={gateway} listed={listed} writing={writing} />
      {model.finder.open.value && <FindBox finder={model.finder} session={session} />}
      <List {...props} model={model} isEmpty={isEmpty} />
      <JumpButton model={model} />
      <Checklist session={session} open={listed} writing={writing} />
      <AnswerAnnouncer session={session} />
    </div>
  );
}

interface ListProps extends TimelineProps {
  readonly model: TimelineModel;
  readonly isEmpty: boolean;
}

function List(props: ListProps) {
  const { model, session, gateway, agents, onNewSession, onOpenSession, onSwitchSession, recent, isEmpty } =
    props;
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const start = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const workspace = session.detail.value?.summary?.workspace ?? "";
  const context = useMemo<RowContext>(
    () => ({
      session,
      gateway,
      onNewSession,
      ...(onOpenSession && { onOpenSession }),
      ...(onSwitchSession && { onSwitchSession }),
      workspace,
      exchange: (before, after) => model.view.exchange(before, after),
    }),
    [session, gateway, model, workspace],
  );
  const { rows, before, after } = model.view.shown.value;
  useLayoutEffect(() => {
    if (!scroller.current || !content.current || !start.current || !list.current) return undefined;
    const frame = {
      scroller: scroller.current,
      content: content.current,
      start: start.current,
      list: list.current,
    };
    const stop = model.start();
    const detach = model.view.attach(frame);
    model.comeBack();
    return () => {
      model.leave();
      detach();
      stop();
    };
  }, [model]);
  useLayoutEffect(() => {
    model.view.committed();
    if (model.finder.open.peek()) model.finder.mark();
  });
  return (
    <div
      ref={scroller}
      class="p-scroller"
      role="log"
      aria-live="off"
      aria-label="Conversation"
      tabIndex={0}
      onClickCapture={({ target }) => {
        const opener = target instanceof Element ? target.closest("[aria-expanded]") : null;
        if (opener !== null) model.view.steady(opener);
      }}
    >
      <div ref={content} class="p-content">
        {isEmpty && (
          <EmptySession
            session={session}
            gateway={gateway}
            agents={agents}
            onNewSession={onNewSession}
            recent={recent}
          />
        )}
        {session.hasEarlier.value && (
          <div class="p-earlier p-soft" aria-hidden={!model.loading.value}>
            {model.loading.value && "Loading earlier messages…"}
          </div>
        )}
        <div ref={start} class="p-space" style={{ height: `${before}px` }} />
        <div ref={list} class="p-rows">
          {rows.map((row) => (
            <RowView key={row.key} row={row} view={model.view} context={context} />
          ))}
        </div>
        <div class="p-space" style={{ height: `${after}px` }} />
        <ModelOfferBelowAnswer
          session={session}
          gateway={gateway}
          agents={agents}
          onNewSession={onNewSession}
        />
        <FollowUps session={session} />
        <ProgressLine session={session} />
      </div>
    </div>
  );
}

interface ToolsProps {
  readonly model: TimelineModel;
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly listed: Signal<boolean>;
  readonly writing: Signal<boolean>;
}

function Tools({ model, session, gateway, listed, writing }: ToolsProps) {
  const goingBack = useSignal(false);
  const { showThinking } = preferencesOf(gateway.memory);
  const write = (): void => {
    writing.value = !(writing.peek() && listed.peek());
    listed.value = writing.peek();
  };
  return (
    <div class="p-timeline-tools" role="toolbar" aria-label="Conversation">
      <IconButton icon="search" label="Find (Ctrl+F)" act={() => (model.finder.open.value = true)} />
      <IconButton
        icon="lightbulb"
        label="Show thinking"
        pressed={showThinking.value}
        act={() => (showThinking.value = !showThinking.peek())}
      />
      <IconButton icon="checklist" label="Todos" pressed={writing.value && listed.value} act={write} />
      <IconButton icon="versions" label="Checkpoints" act={() => (goingBack.value = true)} />
      {goingBack.value && (
        <CheckpointsDialog session={session} gateway={gateway} onLeave={() => (goingBack.value = false)} />
      )}
    </div>
  );
}

function JumpButton({ model }: { readonly model: TimelineModel }) {
  if (model.view.following.value) return null;
  const missed = model.missed.value;
  const words = missed === 0 ? "Jump to end" : missed === 1 ? "1 new message" : `${missed} new messages`;
  return (
    <div class="p-jump">
      <button type="button" class="p-button p-jump-button" onClick={() => model.view.scrollToEnd()}>
        <Icon name="arrow-down" />
        {words}
      </button>
    </div>
  );
}

const LONGEST = 4_000;

export function AnswerAnnouncer({ session }: { readonly session: SessionModel }) {
  const [words, setWords] = useState("");
  useEffect(() => {
    // Messages that were there when the session was opened count as read.
    let read: number | undefined;
    const stopLooking = session.detail.subscribe((detail) => {
      if (detail?.summary !== undefined) read ??= Number(detail.summary.lastSeq);
    });
    const stopReading = session.items.subscribe((items) => {
      if (read === undefined) return;
      for (const item of items.slice(-LAST)) {
        if (item.type !== "answer" || item.open || item.lastSeq <= read) continue;
        read = item.lastSeq;
        setWords(spokenText(item.text.slice(0, LONGEST)));
      }
    });
    return () => {
      stopLooking();
      stopReading();
    };
  }, [session]);
  return (
    <div class="p-aloud" aria-live="polite">
      {words}
    </div>
  );
}

/** Only the end of the conversation changes. */
const LAST = 50;
