// Runs a command that the user approved in a terminal of theirs. An idle one of the same name is used again.

import * as vscode from "vscode";
import type { DispatchCommand } from "../../../web/src/generated/portico/v1/agent_pb";
import { withoutLinks } from "../chat/dismissible-notifications";

export interface DispatchOutcome {
  readonly sent: boolean;
  readonly terminal?: string;
  readonly message?: string;
}

/** Control characters, which the user could not see when approving the command. */
const KEYS = /[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]/;
const SHOW = "Show Terminal";

export class UserTerminals implements vscode.Disposable {
  /** Those that a command was sent to, and whether it still runs there. */
  readonly #busy = new Map<vscode.Terminal, boolean>();
  readonly #following = vscode.Disposable.from(
    vscode.window.onDidEndTerminalShellExecution(({ terminal }) => {
      if (this.#busy.has(terminal)) this.#busy.set(terminal, false);
    }),
    vscode.window.onDidCloseTerminal((terminal) => this.#busy.delete(terminal)),
  );

  async run({ command, cwd, title, reveal }: DispatchCommand): Promise<DispatchOutcome> {
    if (KEYS.test(command)) return { sent: false, message: "The command contains control characters." };
    const name = title === "" ? "Portico" : title;
    const terminal =
      this.#idle(name, cwd) ??
      vscode.window.createTerminal({
        name,
        ...(cwd !== "" && { cwd }),
        iconPath: new vscode.ThemeIcon("hubot"),
      });
    // A shell that cannot be started has no number.
    if ((await terminal.processId) === undefined) {
      terminal.dispose();
      return { sent: false, message: "VS Code could not start a shell." };
    }
    this.#busy.set(terminal, true);
    terminal.sendText(command);
    if (reveal) terminal.show(true);
    else void offerToShow(terminal, command);
    return { sent: true, terminal: terminal.name };
  }

  dispose(): void {
    this.#following.dispose();
  }

  /** Only a shell that tells VS Code where it is and that it waits is known to be idle. */
  #idle(name: string, cwd: string): vscode.Terminal | undefined {
    return [...this.#busy].find(
      ([terminal, isBusy]) =>
        !isBusy &&
        terminal.name === name &&
        terminal.exitStatus === undefined &&
        (cwd === "" || terminal.shellIntegration?.cwd?.fsPath === cwd),
    )?.[0];
  }
}

async function offerToShow(terminal: vscode.Terminal, command: string): Promise<void> {
  const [line = ""] = command.trim().split("\n");
  const words = `Portico: “${withoutLinks(line.slice(0, 60))}” runs in the terminal “${terminal.name}”.`;
  if ((await vscode.window.showInformationMessage(words, SHOW)) === SHOW) terminal.show();
}
