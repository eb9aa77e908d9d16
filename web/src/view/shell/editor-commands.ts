// Commands from the editor around the page.

import { effect, untracked } from "@preact/signals";
import type { EditorCommand } from "../../gateway/gateway";
import { ReviewMode } from "../../generated/portico/v1/agent_pb";
import { reviewOf } from "../../model/review";
import type { SessionModel } from "../../model/types";
import { connectDialog } from "../models/connect-state";
import type { AppModel } from "./app-model";
import { focusComposer } from "./composer-focus";
import { isConnected } from "../../model/reconnector";

export interface CommandTargets {
  readonly showSettings: () => void;
  readonly showHistory: () => void;
  readonly showBoard: () => void;
  readonly showRequest: () => void;
}

/** Begins to obey; the answer ends it. */
export function followCommands(app: AppModel, places: CommandTargets): () => void {
  return app.gateway.onCommand?.((command) => void runCommand(app, places, command)) ?? (() => undefined);
}

async function runCommand(app: AppModel, places: CommandTargets, command: EditorCommand): Promise<void> {
  switch (command.name) {
    case "new_session": {
      const { agent, mode = ReviewMode.UNSPECIFIED, workspace, task } = command;
      const isFirst = app.tabs.tabs.peek().open.length === 0;
      const isUsual = agent === undefined && command.mode === undefined && workspace === undefined;
      // A page without tabs begins one by itself.
      let isBegun = isFirst && isUsual;
      if (isBegun) await readySession(app);
      else await app.newSession(agent, { mode, onStarted: () => (isBegun = true) }, workspace);
      if (task !== undefined) {
        if (isBegun) await ask(await readySession(app), task);
        // It is meant for no other session, and not to be lost either.
        else append(await readySession(app), task);
      }
      focusComposer();
      break;
    }
    case "open_session":
      app.openSession(command.sessionId);
      if (command.quietly !== true) focusComposer();
      break;
    case "ask":
      await ask(await readySession(app), command.text);
      focusComposer();
      break;
    case "insert":
      append(await readySession(app), command.text);
      focusComposer();
      break;
    case "review": {
      app.openSession(command.sessionId);
      reviewOf(await readySession(app), app.gateway).show(command.proposalId, command.path);
      break;
    }
    case "show_ask":
      app.openSession(command.sessionId);
      await readySession(app);
      places.showRequest();
      break;
    case "connect_model":
      await readySession(app);
      connectDialog(app.gateway).value = "model";
      break;
    case "settings":
      places.showSettings();
      break;
    case "history":
      places.showHistory();
      break;
    case "board":
      places.showBoard();
      break;
  }
}

/** The session in front, once it can be used; a page that has none begins one. */
async function readySession(app: AppModel): Promise<SessionModel> {
  await app.begin();
  if (app.info.peek() !== undefined && app.tabs.tabs.peek().open.length === 0) await app.newSession();
  return await new Promise((resolve) => {
    let found = false;
    const stop = effect(() => {
      const session = app.front.value;
      if (found || session?.detail.value === undefined || !isConnected(session.connection.value)) return;
      found = true;
      untracked(() => {
        queueMicrotask(() => stop());
        resolve(session);
      });
    });
  });
}

async function ask(session: SessionModel, text: string): Promise<void> {
  if (!(await session.send({ text, attachments: [] }))) append(session, text);
}

function append(session: SessionModel, text: string): void {
  const before = session.draft.peek();
  const between = before === "" || /\s$/.test(before) ? "" : text.includes("\n") ? "\n\n" : " ";
  session.draft.value = `${before}${between}${text}`;
}
