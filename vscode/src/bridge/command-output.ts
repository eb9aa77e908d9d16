// Output of an agent's command as a terminal prints it: each part once, however often the agent repeats it.

import type { Event, TerminalOutput, ToolPart } from "../../../web/src/generated/portico/v1/events_pb";
import { ToolBuilder } from "../../../web/src/model/call-builders";
import { commandOf } from "../../../web/src/view/cards/permission-labels";

export class CommandOutput {
  readonly #toolId: string;
  readonly #print: (text: string) => void;
  #tool: ToolBuilder | undefined;
  #printed = "";
  #isOver = false;

  constructor(toolId: string, print: (text: string) => void) {
    this.#toolId = toolId;
    this.#print = print;
  }

  /** Whether the command has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Of the command that runs, if Portico runs it and not the agent itself. */
  get terminalId(): string | undefined {
    if (this.#tool === undefined || this.#isOver) return undefined;
    const { content, terminals } = this.#tool.item;
    const named = content.flatMap(({ part }) => (part.case === "terminal" ? [part.value.terminalId] : []));
    return [...named, ...terminals.keys()].findLast((id) => terminals.get(id)?.last.ended !== true);
  }

  take(event: Event): void {
    const { payload } = event;
    if (payload.case === "turnEnded") this.#end("Turn ended");
    const isTool =
      payload.case === "toolStarted" || payload.case === "toolUpdated" || payload.case === "toolCompleted";
    if (!isTool || payload.value.toolId !== this.#toolId) return;
    const tool = (this.#tool ??= new ToolBuilder(event, this.#toolId));
    if (payload.case === "toolStarted") {
      tool.start(event, payload.value);
      this.#print(`\x1b[1m$ ${commandOf(payload.value.inputJson) ?? payload.value.title}\x1b[0m\n`);
    } else if (payload.case === "toolUpdated") tool.update(event, payload.value);
    else tool.complete(event, payload.value);
    this.#printNew(tool.item.content);
    if (payload.case === "toolUpdated" && payload.value.terminal !== undefined)
      this.#take(payload.value.terminal);
    if (payload.case === "toolCompleted") this.#end(payload.value.success ? "Done" : "Failed");
  }

  note(words: string): void {
    this.#print(`\n\x1b[2m${words}\x1b[0m\n`);
  }

  #end(words: string): void {
    this.note(words);
    this.#isOver = true;
  }

  #take({ text, ended, exitCode, signal, leftOut }: TerminalOutput): void {
    if (leftOut > 0n) this.note(`${leftOut} characters omitted`);
    this.#print(text);
    if (ended) this.note(signal === "" ? `Exit code ${exitCode ?? "unknown"}` : `Ended by ${signal}`);
  }

  /** Output of an agent's own terminal, repeated in full with each update. */
  #printNew(parts: readonly ToolPart[]): void {
    const all = parts
      .flatMap(({ part }) => (part.case === "text" ? [withoutFence(part.value.text)] : []))
      .join("\n");
    if (all === this.#printed) return;
    this.#print(all.startsWith(this.#printed) ? all.slice(this.#printed.length) : `\n${all}`);
    this.#printed = all;
  }
}

/** Removes the fence that agents put around output. */
function withoutFence(text: string): string {
  const [opening, fence] = /^(`{3,}|~{3,}).*\n/.exec(text) ?? [];
  if (opening === undefined || fence === undefined) return text;
  const inside = text.slice(opening.length);
  const end = inside.trimEnd();
  return end.endsWith(`\n${fence}`) ? end.slice(0, -fence.length - 1) : inside;
}
