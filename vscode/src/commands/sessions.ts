// Commands about sessions: start, open, stop, switch agent or mode, hand off, export, delete.

import { Code, ConnectError } from "@connectrpc/connect";
import * as vscode from "vscode";
import { ExportFormat, ReviewMode, type Agent } from "../../../web/src/generated/portico/v1/agent_pb";
import { saveFile } from "../chat/editor-actions";
import { errorText } from "../server/connection";
import { chooseComponents } from "./components";
import { chooseAgentMode, chooseReviewMode } from "./modes";
import { confirm, registerCommand, registerSessionCommand } from "./registration";
import type { Services } from "../services";
import { sessionTitle } from "../../../web/src/model/session-summary";

export function sessionCommands(services: Services): vscode.Disposable[] {
  const { chat, connection, sessions, folders } = services;
  return [
    registerCommand("openChat", services, () => chat.send()),
    registerCommand("openChatInEditor", services, () => chat.openPanel()),
    registerCommand("newSession", services, () => startSession(services, {})),
    registerCommand("startOnBranch", services, () => startSession(services, { mode: ReviewMode.BRANCH })),
    registerCommand("startInWorktree", services, () => startSession(services, { mode: ReviewMode.WORKTREE })),
    registerCommand("startWithProposals", services, () =>
      startSession(services, { mode: ReviewMode.PROPOSAL }),
    ),
    registerCommand("showHistory", services, () => chat.send({ name: "history" })),
    registerCommand("showBoard", services, () => chat.send({ name: "board" })),
    registerCommand("showSettings", services, () => chat.send({ name: "settings" })),
    registerSessionCommand("openSession", services, (sessionId) =>
      chat.send({ name: "open_session", sessionId }),
    ),
    registerCommand("resumeLastSession", services, async () => {
      const { sessions } = await connection.call((client) => client.listSessions({ limit: 50 }));
      const last = sessions.find((session) => folders.contains(session) && !session.isNew);
      if (last === undefined) await chat.send({ name: "new_session" });
      else await chat.send({ name: "open_session", sessionId: last.sessionId });
    }),
    registerSessionCommand("stop", services, (sessionId) =>
      connection.call((client) => client.stopTurn({ sessionId })),
    ),
    registerCommand("switchAgent", services, async () => {
      const workspace = folders.main;
      const { agents } = await connection.call((client) => client.listAgents({ workspace }));
      const agent = await chooseAgent(agents);
      if (agent !== undefined) await chat.send({ name: "new_session", agent });
    }),
    registerSessionCommand("switchMode", services, (sessionId) => chooseAgentMode(services, sessionId)),
    registerSessionCommand("switchReviewMode", services, (sessionId) =>
      chooseReviewMode(services, sessionId),
    ),
    registerSessionCommand("handOffSession", services, async (sessionId) => {
      const workspace = sessions.all.value.get(sessionId)?.workspace ?? folders.main;
      const { agents } = await connection.call((client) => client.listAgents({ workspace }));
      const agent = await chooseAgent(agents, HAND_OFF);
      if (agent === undefined) return;
      const { session } = await connection.call((client) => client.handOffSession({ sessionId, agent }));
      const continued = session?.summary?.sessionId;
      if (continued !== undefined) await chat.send({ name: "open_session", sessionId: continued });
    }),
    registerSessionCommand("chooseComponents", services, (sessionId) =>
      chooseComponents(services, sessionId),
    ),
    registerSessionCommand("exportSession", services, async (sessionId) => {
      const format = await chooseFormat();
      if (format === undefined) return;
      const { fileName, content } = await connection.call((client) =>
        client.exportSession({ sessionId, format }),
      );
      await saveFile(fileName, content, sessions.all.value.get(sessionId)?.workspace ?? folders.main);
    }),
    registerSessionCommand("deleteSession", services, async (sessionId) => {
      const session = sessions.all.value.get(sessionId);
      if (
        session === undefined ||
        !(await confirm(`Permanently delete “${sessionTitle(session)}”?`, "Delete"))
      )
        return;
      try {
        await connection.call((client) => client.clearSession({ sessionId }));
      } catch (reason) {
        // The session has undecided changes.
        if (ConnectError.from(reason).code !== Code.InvalidArgument) throw reason;
        if (await confirm("Delete it anyway?", "Delete Anyway", errorText(reason)))
          await connection.call((client) => client.clearSession({ sessionId, discardProposals: true }));
      }
    }),
    registerCommand("showApprovals", services, () => chat.send({ name: "settings" })),
    registerCommand("showSkills", services, () => chat.send({ name: "settings" })),
  ];
}

const SWITCH = { title: "Switch Agent", placeHolder: "Switching agents starts a new session" };
const HAND_OFF = {
  title: "Continue with Another Agent",
  placeHolder: "A new session in the same folder, with a summary of this one",
};

interface NewSessionOptions {
  readonly mode?: ReviewMode;
  readonly task?: string;
}

/** In a window with several folders the person says which one is meant, unless that is known. */
export async function startSession(
  { chat, folders }: Services,
  start: NewSessionOptions,
  folder?: string,
): Promise<void> {
  const workspace = folder ?? (await folders.choose());
  if (workspace === undefined) return;
  const elsewhere = folders.all.length < 2 ? {} : { workspace };
  await chat.send({ name: "new_session", ...elsewhere, ...start });
}

async function chooseFormat(): Promise<ExportFormat | undefined> {
  const formats = [
    { label: "Markdown", description: "readable", format: ExportFormat.MARKDOWN },
    { label: "JSON", description: "every event, for programs", format: ExportFormat.JSON },
  ];
  return (await vscode.window.showQuickPick(formats, { title: "Export Session" }))?.format;
}

export async function chooseAgent(
  agents: readonly Agent[],
  options: vscode.QuickPickOptions = SWITCH,
): Promise<string | undefined> {
  const choices = agents.map((agent) => ({
    label: agent.title === "" ? agent.name : agent.title,
    description: agent.isDefault ? "default" : agent.installed ? "" : "not installed",
    detail: agent.installed ? "" : agent.installHint,
    agent: agent.name,
  }));
  return (await vscode.window.showQuickPick(choices, options))?.agent;
}
