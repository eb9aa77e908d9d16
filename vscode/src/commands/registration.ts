// Registration of commands: error messages, the session a command is about, and confirmations.

import * as vscode from "vscode";
import { withoutLinks } from "../chat/dismissible-notifications";
import { errorText } from "../server/connection";
import { UntrustedWorkspace } from "../server/start-failure";
import type { Services } from "../services";

/** A command whose failure is shown to the person. */
export function registerCommand(
  name: string,
  services: Services,
  act: (...given: unknown[]) => unknown,
): vscode.Disposable {
  return vscode.commands.registerCommand(`portico.${name}`, (...given: unknown[]) =>
    runAndReport(name, services, () => (isStale(given) ? reportStale() : act(...given))),
  );
}

/** A deed on an entry comes with two things; the first is missing while VS Code draws the list anew. */
function isStale(given: readonly unknown[]): boolean {
  return given.length > 1 && given[0] === undefined;
}

/** Without a word on which entry it is, the deed would be done to something else. */
function reportStale(): void {
  void vscode.window.showInformationMessage("Portico: The list has just changed. Try again.");
}

/** A command about a session: that of the entry that it was given on, or the one the person is in. */
export function registerSessionCommand(
  name: string,
  services: Services,
  act: (sessionId: string, given: unknown) => unknown,
): vscode.Disposable {
  return registerCommand(name, services, async (given) => {
    const sessionId = await resolveSession(services, given);
    if (sessionId !== undefined) await act(sessionId, given);
  });
}

export async function runAndReport(name: string, services: Services, act: () => unknown): Promise<void> {
  try {
    await act();
  } catch (reason) {
    services.log.error(`${name}: ${errorText(reason)}`);
    // The reason why the server cannot start was already shown.
    if (services.server.state.value.state !== "failed" || reason instanceof UntrustedWorkspace)
      void vscode.window.showErrorMessage(`Portico: ${withoutLinks(errorText(reason))}`);
  }
}

/** The name of the entry that a command was invoked on; undefined if there is none. */
export function readId(
  given: unknown,
  key: "sessionId" | "todoId" | "toolId" | "proposalId" | "path",
): string | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const name = (given as Readonly<Record<string, unknown>>)[key];
  return typeof name === "string" ? name : undefined;
}

/** Undefined, with a message, if there is none. */
export async function resolveSession(services: Services, given: unknown): Promise<string | undefined> {
  const named = readId(given, "sessionId");
  if (named !== undefined) return named;
  if (services.server.state.value.state !== "running") await services.server.address();
  await services.current.refresh();
  const sessionId = services.current.detail.value?.summary?.sessionId;
  if (sessionId === undefined) void vscode.window.showInformationMessage("Portico: No open session.");
  return sessionId;
}

/** Asks before something is done that cannot be undone. */
export async function confirm(question: string, deed: string, detail = ""): Promise<boolean> {
  return (await vscode.window.showWarningMessage(question, { modal: true, detail }, deed)) === deed;
}
