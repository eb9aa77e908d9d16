// A command of the agent in a terminal, for whoever would rather read it there than in its card: what it has printed,
// and then what it prints. The agent reads the same. It opens only when the person asks, and closing it stops nothing.

import * as vscode from "vscode";
import {
  ToolKind,
  type Event,
  type TerminalOutput,
  type ToolPart,
} from "../../../web/src/generated/portico/v1/events_pb";
import { commandOf } from "../../../web/src/view/cards/permission-words";
import { idIn, isSure, onSession, type Parts } from "../parts";
import { wordsOf, type Link } from "../server/link";

/** As far back as the commands of a session are looked for. */
const PAGES = 20;
const PAGE = 500;

interface Call {
  readonly sessionId: string;
  readonly toolId: string;
  readonly title: string;
  /** The event that began it. */
  readonly seq: bigint;
}

export function terminalCommand(parts: Parts): vscode.Disposable {
  return onSession("showCommandInTerminal", parts, async (sessionId, given) => {
    const call = await choose(parts.link, sessionId, idIn(given, "toolId"));
    if (call === undefined) return;
    const pty = new ToolTerminal(parts.link, call);
    const iconPath = new vscode.ThemeIcon("terminal");
    vscode.window.createTerminal({ name: call.title, pty, iconPath }).show();
  });
}

/** The call that is meant, or the one that the person picks; the newest first. */
async function choose(link: Link, sessionId: string, toolId: string | undefined): Promise<Call | undefined> {
  const calls: Call[] = [];
  let beforeSeq = 0n;
  for (let page = 0; page < PAGES; page++) {
    const asked = { sessionId, beforeSeq, limit: PAGE };
    const { events, more } = await link.call((client) => client.getTimeline(asked));
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
  if (toolId !== undefined || calls.length === 0)
    throw new Error("There is no such command in this session.");
  if (calls.length === 1) return calls[0];
  // A list would show an icon for what looks like the name of one: $(make).
  const items = calls.map((call) => ({ label: call.title.replace(/\$\((?=[\w~-]+\))/g, "\\$("), call }));
  return (await vscode.window.showQuickPick(items, { placeHolder: "The command to show" }))?.call;
}

class ToolTerminal implements vscode.Pseudoterminal {
  readonly #link: Link;
  readonly #call: Call;
  readonly #written = new vscode.EventEmitter<string>();
  readonly #reading = new AbortController();
  readonly onDidWrite = this.#written.event;
  #said = "";
  #asking = false;
  /** Where Portico runs the command, and not the agent itself. */
  #terminalId: string | undefined;

  constructor(link: Link, call: Call) {
    this.#link = link;
    this.#call = call;
  }

  open(): void {
    void this.#read().catch((reason: unknown) => {
      if (!this.#reading.signal.aborted) this.#note(wordsOf(reason));
    });
  }

  close(): void {
    this.#reading.abort();
  }

  handleInput(keys: string): void {
    if (keys === "\x03") void this.#stop();
  }

  async #read(): Promise<void> {
    const { sessionId, seq } = this.#call;
    const { signal } = this.#reading;
    await this.#link.call(async (client) => {
      for await (const { update } of client.watch({ sessionId, afterSeq: seq - 1n }, { signal })) {
        if (update.case === "event" && this.#isLast(update.value)) return;
      }
    });
  }

  /** Shows an event; whether nothing more will come. */
  #isLast({ payload }: Event): boolean {
    if (payload.case === "turnEnded") {
      this.#note("The turn has ended");
      return true;
    }
    const isTool =
      payload.case === "toolStarted" || payload.case === "toolUpdated" || payload.case === "toolCompleted";
    if (!isTool || payload.value.toolId !== this.#call.toolId) return false;
    if (payload.case === "toolStarted") {
      this.#write(`\x1b[1m$ ${commandOf(payload.value.inputJson) ?? this.#call.title}\x1b[0m\n`);
      this.#say(payload.value.content);
      return false;
    }
    this.#say(payload.value.content?.parts ?? []);
    if (payload.case === "toolUpdated" && payload.value.terminal !== undefined)
      this.#print(payload.value.terminal);
    if (payload.case === "toolCompleted") this.#note(payload.value.success ? "Done" : "Failed");
    return payload.case === "toolCompleted";
  }

  #print({ terminalId, text, ended, exitCode, signal, leftOut }: TerminalOutput): void {
    this.#terminalId = ended ? undefined : terminalId;
    if (leftOut > 0n) this.#note(`${leftOut} characters were left out`);
    this.#write(text);
    if (ended) this.#note(signal === "" ? `Exit code ${exitCode ?? "unknown"}` : `Ended by ${signal}`);
  }

  /** What an agent with a terminal of its own tells of it: all of it, each time. */
  #say(parts: readonly ToolPart[]): void {
    for (const { part } of parts) if (part.case === "terminal") this.#terminalId = part.value.terminalId;
    const all = parts.flatMap(({ part }) => (part.case === "text" ? [part.value.text] : [])).join("\n");
    if (all === "") return;
    this.#write(all.startsWith(this.#said) ? all.slice(this.#said.length) : `\n${all}`);
    this.#said = all;
  }

  #note(words: string): void {
    this.#write(`\n\x1b[2m${words}\x1b[0m\n`);
  }

  #write(text: string): void {
    if (text !== "") this.#written.fire(text.replace(/\r?\n/g, "\r\n"));
  }

  async #stop(): Promise<void> {
    const { sessionId } = this.#call;
    const terminalId = this.#terminalId;
    if (terminalId !== undefined) {
      await this.#link.call((client) => client.stopCommand({ sessionId, terminalId }));
      return;
    }
    if (this.#asking) return;
    this.#asking = true;
    const stops = await isSure(
      "Stop the turn?",
      "Stop",
      "The command ends with the turn that it belongs to.",
    );
    this.#asking = false;
    if (stops) await this.#link.call((client) => client.stopTurn({ sessionId }));
  }
}
