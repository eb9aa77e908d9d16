// A read-only terminal that shows the output of an agent's command. Opened on request; closing it stops nothing.

import * as vscode from "vscode";
import { ToolKind } from "../../../web/src/generated/portico/v1/events_pb";
import { readId, confirm, registerSessionCommand } from "../commands/registration";
import type { Services } from "../services";
import { errorText, type ServerConnection } from "../server/connection";
import { CommandOutput } from "./command-output";

/** Pages of the timeline, and events on each, that are searched for a command. */
const PAGES = 20;
const PAGE = 500;

interface Call {
  readonly sessionId: string;
  readonly toolId: string;
  readonly title: string;
  /** The event that began it. */
  readonly seq: bigint;
}

export function registerTerminalCommand(services: Services): vscode.Disposable {
  return registerSessionCommand("showCommandInTerminal", services, async (sessionId, given) => {
    const call = await chooseCall(services.connection, sessionId, readId(given, "toolId"));
    if (call === undefined) return;
    const pty = new ToolTerminal(services.connection, call);
    const iconPath = new vscode.ThemeIcon("terminal");
    vscode.window.createTerminal({ name: call.title, pty, iconPath }).show();
  });
}

/** The call that is meant, or the one that the person picks; the newest first. */
async function chooseCall(
  connection: ServerConnection,
  sessionId: string,
  toolId: string | undefined,
): Promise<Call | undefined> {
  const calls: Call[] = [];
  let beforeSeq = 0n;
  for (let page = 0; page < PAGES; page++) {
    const asked = { sessionId, beforeSeq, limit: PAGE };
    const { events, more } = await connection.call((client) => client.getTimeline(asked));
    for (const { seq, payload } of events.toReversed()) {
      if (payload.case !== "toolStarted") continue;
      const { toolId: id, title, toolKind } = payload.value;
      const found = { sessionId, toolId: id, title, seq };
      if (id === toolId) return found;
      if (toolKind === ToolKind.EXECUTE) calls.push(found);
    }
    beforeSeq = events[0]?.seq ?? 0n;
    if (!more || (toolId === undefined && calls.length > 0)) break;
  }
  if (toolId !== undefined || calls.length === 0) throw new Error("No such command in this session.");
  if (calls.length === 1) return calls[0];
  // A list would show an icon for what looks like the name of one: $(make).
  const items = calls.map((call) => ({ label: call.title.replace(/\$\((?=[\w~-]+\))/g, "\\$("), call }));
  return (await vscode.window.showQuickPick(items, { placeHolder: "Select a command to show" }))?.call;
}

class ToolTerminal implements vscode.Pseudoterminal {
  readonly #connection: ServerConnection;
  readonly #call: Call;
  readonly #written = new vscode.EventEmitter<string>();
  readonly #reading = new AbortController();
  readonly #output: CommandOutput;
  readonly onDidWrite = this.#written.event;
  #asking = false;

  constructor(connection: ServerConnection, call: Call) {
    this.#connection = connection;
    this.#call = call;
    this.#output = new CommandOutput(call.toolId, (text) =>
      this.#written.fire(text.replace(/\r?\n/g, "\r\n")),
    );
  }

  open(): void {
    void this.#read().catch((reason: unknown) => {
      if (!this.#reading.signal.aborted) this.#output.note(errorText(reason));
    });
  }

  close(): void {
    this.#reading.abort();
  }

  handleInput(keys: string): void {
    if (keys === "\x03" && !this.#output.isOver)
      void this.#stop().catch((reason: unknown) => this.#output.note(errorText(reason)));
  }

  async #read(): Promise<void> {
    const { sessionId, seq } = this.#call;
    const { signal } = this.#reading;
    await this.#connection.call(async (client) => {
      for await (const { update } of client.watch({ sessionId, afterSeq: seq - 1n }, { signal })) {
        if (update.case === "event") this.#output.take(update.value);
        if (this.#output.isOver) return;
      }
    });
  }

  async #stop(): Promise<void> {
    const { sessionId } = this.#call;
    const { terminalId } = this.#output;
    if (terminalId !== undefined) {
      await this.#connection.call((client) => client.stopCommand({ sessionId, terminalId }));
      return;
    }
    if (this.#asking) return;
    this.#asking = true;
    const about = "The command is part of this turn.";
    const stops = await confirm("Stop the turn?", "Stop", about);
    this.#asking = false;
    if (stops && !this.#output.isOver)
      await this.#connection.call((client) => client.stopTurn({ sessionId }));
  }
}
