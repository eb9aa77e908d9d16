// Frame of the page: tabs, the session in front, and the history.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { withVisibleControls } from "../../markdown/direction-controls";
import { reviewOf } from "../../model/review";
import type { SessionSummary } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import { FailureCard, PendingBar, showRequest, type NewSession, type OnNewSession } from "../cards";
import { autoAcceptOf } from "../cards/auto-accept";
import { writerIn } from "../cards/folder-writers";
import { Composer } from "../composer/composer";
import { lazy } from "../lazy";
import { ConnectLoader } from "../models/connect-loader";
import { connectDialog } from "../models/connect-state";
import { BranchBar } from "../review/branch-bar";
import { ReviewBar } from "../review/review-bar";
import { ReviewFrame } from "../review/review-frame";
import { Timeline } from "../timeline/timeline";
import type { AppModel } from "./app-model";
import { ConnectionBanner } from "./connection-banner";
import { followCommands } from "./editor-commands";
import { focusComposer } from "./composer-focus";
import { History } from "./history";
import type { SettingsPage } from "./settings";
import { onShortcut, type ShortcutTargets } from "./shortcuts";
import { TabBar } from "./tab-bar";
import { FailureToast, RemovalToasts } from "./toasts";
import { useWideLayout } from "./wide-layout";
import { IconButton } from "../timeline/elements";

const HandOffDialog = lazy(() => import("./hand-off-dialog").then((module) => module.HandOffDialog));
const BoardDialog = lazy(() => import("../board/board-dialog").then((module) => module.BoardDialog));
const RemovalDialog = lazy(() => import("./removal-dialog").then((module) => module.RemovalDialog));
const SettingsDialog = lazy(() => import("./settings").then((module) => module.SettingsDialog));

export function App({ app }: { app: AppModel }) {
  const wide = useWideLayout();
  const history = useHistory(app, wide);
  const part = useSignal<SettingsPage | undefined>(undefined);
  const connects = connectDialog(app.gateway);
  const board = useSignal(/^#(board|costs)$/.test(location.hash));
  const front = app.front.value;

  useEffect(() => {
    const places: ShortcutTargets = {
      showHistory: () => history.toggle(),
      newSession: () => void startSession(app, ""),
      showKeys: () => (part.value = "shortcuts"),
      showRequest: () => showWaiting(app.front.peek()),
      showReview: () => toggleReview(app),
      toggleAutoAccept: () => toggleAutoAccept(app.front.peek()),
    };
    const press = (event: KeyboardEvent): void => onShortcut(event, app, places);
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [app, wide]);
  useEffect(
    () =>
      followCommands(app, {
        showSettings: () => (part.value = "settings"),
        showHistory: () => history.toggle(),
        showBoard: () => (board.value = true),
        showRequest: () => showWaiting(app.front.peek()),
      }),
    [app, wide],
  );
  useVisibility(app);
  useTitle(app);
  useTheme(app);

  const over = history.open && !wide;
  return (
    <div class="p-app">
      <header class="p-top">
        <h1 class="p-aloud">Portico</h1>
        <TabBar app={app} />
        {/* An editor has them in the title of the view. */}
        {app.gateway.onCommand === undefined && (
          <div class="p-top-buttons">
            <IconButton icon="add" label="New session" act={() => void startSession(app, "")} />
            <IconButton icon="history" label="History" expanded={history.open} act={() => history.toggle()} />
            <IconButton icon="project" label="All sessions" act={() => (board.value = true)} />
            <IconButton icon="settings-gear" label="Settings" act={() => (part.value = "settings")} />
          </div>
        )}
      </header>
      <ConnectionBanner app={app} session={front} />
      <div class="p-middle">
        {history.open && (
          <History app={app} over={over} takesFocus={history.byPerson} onLeave={history.toggle} />
        )}
        {over && <div class="p-veil" onClick={history.toggle} />}
        <main class="p-main" inert={over}>
          {front === undefined ? <Welcome app={app} /> : <Pane key={front.id} app={app} session={front} />}
        </main>
      </div>
      <div class="p-toasts">
        <FailureToast failure={app.failure} />
        <FailureToast failure={app.sessions.failure} />
        <RemovalToasts app={app} />
      </div>
      {app.removals.request.value !== undefined && <RemovalDialog app={app} />}
      {app.handingOff.value !== undefined && <HandOffDialog app={app} />}
      {connects.value !== undefined && (
        <ConnectLoader
          gateway={app.gateway}
          session={app.front.peek()}
          part={connects.value}
          onLeave={() => (connects.value = undefined)}
        />
      )}
      {board.value && <BoardDialog app={app} onLeave={() => (board.value = false)} />}
      {part.value !== undefined && (
        <SettingsDialog
          app={app}
          part={part.value}
          onShow={(shown) => (part.value = shown)}
          onLeave={() => (part.value = undefined)}
        />
      )}
    </div>
  );
}

function Pane({ app, session }: { app: AppModel; session: SessionModel }) {
  const newSession: OnNewSession = (agent, start) =>
    void startSession(app, agent, { ...chosenMode(session), ...start });
  const writer = useComputed(() => {
    const { workspace = "" } = session.detail.value?.summary ?? {};
    return writerIn(workspace, app.known.value.values(), session.id);
  });
  const recent = useComputed(() => recentSessions(app, session));
  return (
    <div class="p-pane" id="p-pane" role="tabpanel" aria-labelledby={`tab-${session.id}`}>
      <ReviewFrame session={session} gateway={app.gateway}>
        <Timeline
          session={session}
          gateway={app.gateway}
          agents={app.agents}
          onNewSession={newSession}
          onOpenSession={(sessionId) => app.openSession(sessionId)}
          onSwitchSession={(other, seq) => app.switchSession(session.id, other, seq)}
          recent={{ sessions: recent, open: (sessionId) => app.openSession(sessionId) }}
        />
        <FailureCard session={session} gateway={app.gateway} onNewSession={newSession} />
        <PendingBar session={session} />
        <ReviewBar session={session} gateway={app.gateway} />
        <BranchBar session={session} gateway={app.gateway} />
        <Composer
          session={session}
          gateway={app.gateway}
          agents={app.agents}
          writer={writer}
          onNewSession={newSession}
        />
      </ReviewFrame>
    </div>
  );
}

const MOST_RECENT = 3;

/** The other sessions of the same folder that were used last. */
function recentSessions(app: AppModel, session: SessionModel): readonly SessionSummary[] {
  const workspace = session.detail.value?.summary?.workspace;
  return app.sessions.sessions.value
    .filter((one) => one.workspace === workspace && one.sessionId !== session.id && !one.isNew)
    .slice(0, MOST_RECENT);
}

/** Starts a session and focuses the composer. */
async function startSession(app: AppModel, agent: string, start?: NewSession): Promise<void> {
  await app.newSession(agent, start);
  focusComposer();
}

function Welcome({ app }: { app: AppModel }) {
  const button = useRef<HTMLButtonElement>(null);
  const ready = app.info.value !== undefined;
  useEffect(() => {
    if (document.activeElement === document.body) button.current?.focus();
  }, [ready]);
  if (!ready) return null;
  return (
    <div class="p-welcome">
      <h2>No open session</h2>
      <p class="p-soft">Start a new session, or open one from the history.</p>
      <button
        ref={button}
        type="button"
        class="p-button p-button-main"
        onClick={() => void startSession(app, "")}
      >
        New session
      </button>
    </div>
  );
}

/** Beside the session, where there is room, the list stays as it was left; elsewhere it comes when called. */
function useHistory(app: AppModel, wide: boolean) {
  const { memory } = app.gateway;
  const beside = useSignal(memory.get("history") !== false);
  const over = useSignal(false);
  const byPerson = useRef(false);
  const opener = useRef<Element | null>(null);
  const shown = wide ? beside : over;
  const toggle = (): void => {
    byPerson.current = true;
    if (!shown.peek()) opener.current = document.activeElement;
    shown.value = !shown.peek();
    if (wide) memory.set("history", shown.peek());
    if (!shown.peek() && opener.current instanceof HTMLElement) opener.current.focus();
  };
  return { open: shown.value, byPerson: byPerson.current, toggle };
}

function useVisibility(app: AppModel): void {
  useEffect(() => {
    const follow = (): void => app.setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", follow);
    return () => document.removeEventListener("visibilitychange", follow);
  }, [app]);
}

/** The name of the session in front, and how many sessions wait for an answer. */
function useTitle(app: AppModel): void {
  const waiting = useComputed(() => [...app.known.value.values()].filter((one) => one.waiting > 0).length);
  useSignalEffect(() => {
    const title = app.titleOf(app.front.value?.id ?? "");
    const name = title === "" ? "Portico" : `${withVisibleControls(title)} · Portico`;
    document.title = waiting.value > 0 ? `(${waiting.value}) ${name}` : name;
  });
}

function useTheme(app: AppModel): void {
  useSignalEffect(() => {
    const theme = app.preferences.theme.value;
    const { dataset } = document.documentElement;
    if (theme === "system") delete dataset["theme"];
    else dataset["theme"] = theme;
  });
}

function showWaiting(session: SessionModel | undefined): void {
  const { permissions = [], questions = [] } = session?.detail.peek() ?? {};
  const requestId = permissions[0]?.requestId ?? questions[0]?.requestId;
  if (session !== undefined && requestId !== undefined) showRequest(session, requestId);
}

/** The review mode chosen before the first prompt, kept when the agent changes. */
function chosenMode(session: SessionModel): NewSession {
  const { isNew = false, mode } = session.detail.peek()?.summary ?? {};
  return isNew && mode !== undefined ? { mode } : {};
}

function toggleAutoAccept(session: SessionModel | undefined): void {
  if (session === undefined) return;
  const on = autoAcceptOf(session);
  on.value = !on.peek();
}

function toggleReview(app: AppModel): void {
  const session = app.front.peek();
  if (session === undefined) return;
  const review = reviewOf(session, app.gateway);
  const proposal = session.detail.peek()?.proposals.at(-1);
  if (review.open.peek() !== undefined) review.close();
  else if (proposal !== undefined) review.show(proposal.proposalId);
}
