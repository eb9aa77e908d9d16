// What the commands and the views are given: everything that lives as long as the extension.

import * as vscode from "vscode";
import type { Folders } from "./folders";
import type { Installing } from "./server/installing";
import { wordsOf, type Link } from "./server/link";
import type { Server } from "./server/server";
import { NotTrusted } from "./server/troubles";
import type { CurrentSession } from "./sessions/current";
import type { LiveSessions } from "./sessions/live";
import type { Chat } from "./view/chat";

export interface Parts {
  readonly server: Server;
  readonly link: Link;
  readonly live: LiveSessions;
  readonly current: CurrentSession;
  readonly chat: Chat;
  readonly folders: Folders;
  readonly installing: Installing;
  readonly secrets: vscode.SecretStorage;
  readonly log: vscode.LogOutputChannel;
}

/** A command whose failure is told to the person who gave it. */
export function command(
  name: string,
  parts: Parts,
  act: (...given: unknown[]) => unknown,
): vscode.Disposable {
  return vscode.commands.registerCommand(`portico.${name}`, async (...given: unknown[]) => {
    try {
      await act(...given);
    } catch (reason) {
      parts.log.error(`${name}: ${wordsOf(reason)}`);
      // What keeps the server from starting has been told already.
      if (parts.server.state.value.state !== "failed" || reason instanceof NotTrusted)
        void vscode.window.showErrorMessage(`Portico: ${wordsOf(reason)}`);
    }
  });
}

/** The session that a command is about: of the entry that it was given on, or the one the person is in. */
export async function sessionFor(parts: Parts, given: unknown): Promise<string | undefined> {
  if (
    typeof given === "object" &&
    given !== null &&
    "sessionId" in given &&
    typeof given.sessionId === "string"
  )
    return given.sessionId;
  if (parts.server.state.value.state !== "running") await parts.server.address();
  await parts.current.refresh();
  const sessionId = parts.current.detail.value?.summary?.sessionId;
  if (sessionId === undefined) void vscode.window.showInformationMessage("Portico: no session is open yet.");
  return sessionId;
}
