// Runs a command that the user approved in a terminal of theirs.

import * as vscode from "vscode";
import type { DispatchCommand } from "../../../web/src/generated/portico/v1/agent_pb";

export interface DispatchOutcome {
  readonly sent: boolean;
  readonly terminal?: string;
  readonly message?: string;
}

/** Control characters, which the user could not see when approving the command. */
const KEYS = /[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]/;

export async function runInTerminal({ command, cwd, title }: DispatchCommand): Promise<DispatchOutcome> {
  if (KEYS.test(command)) return { sent: false, message: "The command contains control characters." };
  const terminal = vscode.window.createTerminal({
    name: title === "" ? "Portico" : title,
    ...(cwd !== "" && { cwd }),
    iconPath: new vscode.ThemeIcon("hubot"),
  });
  terminal.show(true);
  // A shell that cannot be started has no number.
  if ((await terminal.processId) === undefined) {
    terminal.dispose();
    return { sent: false, message: "VS Code could not start a shell." };
  }
  terminal.sendText(command);
  return { sent: true, terminal: terminal.name };
}
