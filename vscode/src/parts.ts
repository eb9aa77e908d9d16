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
import { plain } from "./view/notes";

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
  return vscode.commands.registerCommand(`portico.${name}`, (...given: unknown[]) =>
    attempt(name, parts, () => (isGone(given) ? tellGone() : act(...given))),
  );
}

/** A deed on an entry comes with two things; the first is missing while VS Code draws the list anew. */
function isGone(given: readonly unknown[]): boolean {
  return given.length > 1 && given[0] === undefined;
}

/** Without a word on which entry it is, the deed would be done to something else. */
function tellGone(): void {
  void vscode.window.showInformationMessage("Portico: the list has just changed. Click once more.");
}

/** A command about a session: that of the entry that it was given on, or the one the person is in. */
export function onSession(
  name: string,
  parts: Parts,
  act: (sessionId: string, given: unknown) => unknown,
): vscode.Disposable {
  return command(name, parts, async (given) => {
    const sessionId = await sessionFor(parts, given);
    if (sessionId !== undefined) await act(sessionId, given);
  });
}

export async function attempt(name: string, parts: Parts, act: () => unknown): Promise<void> {
  try {
    await act();
  } catch (reason) {
    parts.log.error(`${name}: ${wordsOf(reason)}`);
    // What keeps the server from starting has been told already.
    if (parts.server.state.value.state !== "failed" || reason instanceof NotTrusted)
      void vscode.window.showErrorMessage(`Portico: ${plain(wordsOf(reason))}`);
  }
}

/** What the entry that a command was given on is called; undefined if it was given on none. */
export function idIn(given: unknown, key: "sessionId" | "todoId" | "toolId"): string | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const name = (given as Readonly<Record<string, unknown>>)[key];
  return typeof name === "string" ? name : undefined;
}

/** Undefined if there is none, which the person is told. */
export async function sessionFor(parts: Parts, given: unknown): Promise<string | undefined> {
  const named = idIn(given, "sessionId");
  if (named !== undefined) return named;
  if (parts.server.state.value.state !== "running") await parts.server.address();
  await parts.current.refresh();
  const sessionId = parts.current.detail.value?.summary?.sessionId;
  if (sessionId === undefined) void vscode.window.showInformationMessage("Portico: no session is open yet.");
  return sessionId;
}

/** Asks before something is done that cannot be undone. */
export async function isSure(question: string, deed: string, detail = ""): Promise<boolean> {
  return (await vscode.window.showWarningMessage(question, { modal: true, detail }, deed)) === deed;
}
