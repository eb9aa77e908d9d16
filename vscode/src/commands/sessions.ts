// Commands about sessions: begin, open, stop, switch, export.

import { Code, ConnectError } from "@connectrpc/connect";
import * as vscode from "vscode";
import { ExportFormat, ReviewMode } from "../../../web/src/generated/portico/v1/agent_pb";
import { command, isSure, onSession, type Parts } from "../parts";
import { wordsOf } from "../server/link";
import { nameOf } from "../sessions/live";
import { save } from "../view/errands";
import { chooseAgent, chooseMode } from "./choosing";

export function sessionCommands(parts: Parts): vscode.Disposable[] {
  const { chat, link, live, folders } = parts;
  return [
    command("openChat", parts, () => chat.tell()),
    command("openChatInEditor", parts, () => chat.openPanel()),
    command("newSession", parts, () => begin(parts, {})),
    command("startOnBranch", parts, () => begin(parts, { mode: ReviewMode.BRANCH })),
    command("startInWorktree", parts, () => begin(parts, { mode: ReviewMode.WORKTREE })),
    onSession("openSession", parts, (sessionId) => chat.tell({ name: "open_session", sessionId })),
    command("resumeLastSession", parts, async () => {
      const { sessions } = await link.call((client) => client.listSessions({ limit: 50 }));
      const last = sessions.find((session) => folders.isHere(session) && !session.isNew);
      if (last === undefined) await chat.tell({ name: "new_session" });
      else await chat.tell({ name: "open_session", sessionId: last.sessionId });
    }),
    onSession("stop", parts, (sessionId) => link.call((client) => client.stopTurn({ sessionId }))),
    command("switchAgent", parts, async () => {
      const workspace = folders.main;
      const { agents } = await link.call((client) => client.listAgents({ workspace }));
      const agent = await chooseAgent(agents);
      if (agent !== undefined) await chat.tell({ name: "new_session", agent });
    }),
    onSession("switchMode", parts, (sessionId) => chooseMode(parts, sessionId)),
    onSession("exportSession", parts, async (sessionId) => {
      const format = await chooseFormat();
      if (format === undefined) return;
      const { fileName, content } = await link.call((client) => client.exportSession({ sessionId, format }));
      await save(fileName, content, live.sessions.value.get(sessionId)?.workspace ?? folders.main);
    }),
    onSession("deleteSession", parts, async (sessionId) => {
      const session = live.sessions.value.get(sessionId);
      if (session === undefined || !(await isSure(`Delete “${nameOf(session)}” for good?`, "Delete"))) return;
      try {
        await link.call((client) => client.clearSession({ sessionId }));
      } catch (reason) {
        // Something would be lost with it that nobody has decided on.
        if (ConnectError.from(reason).code !== Code.InvalidArgument) throw reason;
        if (await isSure("Delete it anyway?", "Delete Anyway", wordsOf(reason)))
          await link.call((client) => client.clearSession({ sessionId, discardProposals: true }));
      }
    }),
    command("showApprovals", parts, () => chat.tell({ name: "settings" })),
  ];
}

interface Beginning {
  readonly mode?: ReviewMode;
  readonly task?: string;
}

/** In a window with several folders the person says which one is meant, unless that is known. */
export async function begin({ chat, folders }: Parts, start: Beginning, folder?: string): Promise<void> {
  const workspace = folder ?? (await folders.choose());
  if (workspace === undefined) return;
  const elsewhere = folders.all.length < 2 ? {} : { workspace };
  await chat.tell({ name: "new_session", ...elsewhere, ...start });
}

async function chooseFormat(): Promise<ExportFormat | undefined> {
  const formats = [
    { label: "Markdown", description: "to read", format: ExportFormat.MARKDOWN },
    { label: "JSON", description: "for programs, with every event", format: ExportFormat.JSON },
  ];
  return (await vscode.window.showQuickPick(formats, { title: "Export Session" }))?.format;
}
