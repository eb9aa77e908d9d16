// Tool calls, permissions and questions while they are under way: things with a beginning, an end,
// and a turn that may end before they do.

import { create } from "@bufbuild/protobuf";
import {
  ToolKind,
  ToolStatus,
  type Event,
  type Location,
  type PermissionRequested,
  type PermissionResolved,
  type QuestionAnswered,
  type QuestionAsked,
  ToolPartSchema,
  type TerminalOutput,
  type TextGrowth,
  type ToolCompleted,
  type ToolPart,
  type ToolStarted,
  type ToolUpdated,
} from "../generated/portico/v1/events_pb";
import { Cell, type Base } from "./cells";
import type { Item, PermissionItem, QuestionItem, TerminalText, ToolItem } from "./types";

/** Something that its turn leaves behind if it has not ended by then. */
export abstract class CallCell<Kind extends Item = Item> extends Cell<Kind> {
  #turnOver = false;

  protected abstract get ended(): boolean;

  get abandoned(): boolean {
    return this.#turnOver && !this.ended;
  }

  endTurn(): void {
    if (!this.ended) this.changed();
    this.#turnOver = true;
  }
}

/** What has been said of a tool call; what is undefined has not been said. */
interface Said {
  readonly title?: string | undefined;
  readonly kind?: ToolKind | undefined;
  readonly status?: ToolStatus | undefined;
  readonly name?: string | undefined;
  readonly content?: readonly ToolPart[] | undefined;
  readonly locations?: readonly Location[] | undefined;
  readonly inputJson?: string | undefined;
  readonly outputJson?: string | undefined;
  readonly durationMs?: number | undefined;
}

export class ToolCell extends CallCell<ToolItem> {
  #said: Said = {};
  #partial = false;
  /** How the content goes on that an older page begins. */
  #goesOn: TextGrowth | undefined;
  #terminals = new Map<string, TerminalText>();

  constructor(
    event: Event,
    readonly toolId: string,
  ) {
    super(ToolCell.keyOf(event.turnId, toolId), event);
  }

  /** An agent may use an id again in another turn. */
  static keyOf(turnId: string, toolId: string): string {
    return `tool ${turnId} ${toolId}`;
  }

  /** Whether its beginning lies in a page that is not loaded yet. */
  get partial(): boolean {
    return this.#partial;
  }

  set partial(partial: boolean) {
    if (partial !== this.#partial) this.changed();
    this.#partial = partial;
  }

  start(event: Event, started: ToolStarted): void {
    this.#hear(event, {
      title: started.title,
      kind: said(started.toolKind),
      status: said(started.status),
      name: started.name,
      content: started.content,
      locations: started.locations,
      inputJson: started.inputJson,
      outputJson: started.outputJson,
    });
  }

  update(event: Event, updated: ToolUpdated): void {
    if (updated.terminal !== undefined) this.#print(updated.terminal);
    const told = this.#change(updated);
    const content = updated.grown === undefined ? told.content : this.#grow(updated.grown);
    this.#hear(event, { ...told, content, status: said(updated.status) });
  }

  complete(event: Event, completed: ToolCompleted): void {
    this.#hear(event, {
      ...this.#change(completed),
      status: completed.success ? ToolStatus.COMPLETED : ToolStatus.FAILED,
      durationMs: Number(completed.durationMs),
    });
  }

  /** Puts what an older page said of the same call in front. */
  follow(older: ToolCell): void {
    const { content } = older.#said;
    if (this.#goesOn !== undefined && content !== undefined)
      this.#said = { ...this.#said, content: grown(content, this.#goesOn) };
    this.#goesOn = older.#goesOn;
    this.#said = merged(older.#said, this.#said);
    this.#partial = older.#partial;
    const newer = this.#terminals;
    this.#terminals = new Map(older.#terminals);
    for (const [id, output] of newer) {
      this.#terminals.set(id, {
        text: (older.#terminals.get(id)?.text ?? "") + output.text,
        last: output.last,
      });
    }
    this.beganWith(older);
  }

  protected get ended(): boolean {
    return this.#said.status === ToolStatus.COMPLETED || this.#said.status === ToolStatus.FAILED;
  }

  protected build(base: Base): ToolItem {
    const told = this.#said;
    return {
      ...base,
      type: "tool",
      toolId: this.toolId,
      title: told.title ?? "",
      kind: told.kind ?? ToolKind.OTHER,
      status: told.status ?? ToolStatus.IN_PROGRESS,
      name: told.name ?? "",
      content: told.content ?? [],
      locations: told.locations ?? [],
      inputJson: told.inputJson,
      outputJson: told.outputJson,
      terminals: new Map(this.#terminals),
      durationMs: told.durationMs,
      partial: this.#partial,
      abandoned: this.abandoned,
    };
  }

  #hear(event: Event, more: Said): void {
    this.#said = merged(this.#said, more);
    this.took(event);
  }

  #change(told: ToolUpdated | ToolCompleted): Said {
    const content = told.content?.parts;
    if (content !== undefined) this.#goesOn = undefined;
    return {
      title: told.title,
      kind: said(told.toolKind),
      content,
      locations: told.locations?.locations,
      inputJson: told.inputJson,
      outputJson: told.outputJson,
    };
  }

  #grow(growth: TextGrowth): readonly ToolPart[] {
    const { content } = this.#said;
    if (content === undefined) this.#goesOn = growth;
    else if (this.#goesOn !== undefined) this.#goesOn = further(this.#goesOn, growth);
    return grown(content ?? [], growth);
  }

  #print(output: TerminalOutput): void {
    const printed = this.#terminals.get(output.terminalId)?.text ?? "";
    this.#terminals.set(output.terminalId, { text: printed + output.text, last: output });
  }
}

/** Content whose last text goes on. What is known of one that began out of sight is its end. */
function grown(content: readonly ToolPart[], { dropped, text }: TextGrowth): readonly ToolPart[] {
  const last = content.at(-1);
  if (last?.part.case !== "text")
    return [...content, create(ToolPartSchema, { part: { case: "text", value: { text } } })];
  const before = last.part.value.text;
  const whole = before.slice(0, before.length - dropped) + text;
  return [
    ...content.slice(0, -1),
    create(ToolPartSchema, { part: { case: "text", value: { text: whole } } }),
  ];
}

function further(before: TextGrowth, after: TextGrowth): TextGrowth {
  const kept = Math.max(before.text.length - after.dropped, 0);
  const beyond = Math.max(after.dropped - before.text.length, 0);
  return { ...before, dropped: before.dropped + beyond, text: before.text.slice(0, kept) + after.text };
}

function merged(before: Said, more: Said): Said {
  return {
    title: more.title ?? before.title,
    kind: more.kind ?? before.kind,
    status: more.status ?? before.status,
    name: more.name ?? before.name,
    content: more.content ?? before.content,
    locations: more.locations ?? before.locations,
    inputJson: more.inputJson ?? before.inputJson,
    outputJson: more.outputJson ?? before.outputJson,
    durationMs: more.durationMs ?? before.durationMs,
  };
}

/** Zero is how the wire leaves a choice out. */
function said<Choice extends number>(choice: Choice): Choice | undefined {
  return choice === 0 ? undefined : choice;
}

/** Something that waits for an answer of the person. */
export abstract class AskCell<Answer = unknown, Kind extends Item = Item> extends CallCell<Kind> {
  protected answer: Answer | undefined;

  constructor(event: Event) {
    super(`${event.seq}`, event);
  }

  settle(event: Event, answer: Answer): void {
    if (this.answer !== undefined) return;
    this.answer = answer;
    this.took(event);
  }

  protected get ended(): boolean {
    return this.answer !== undefined;
  }
}

export class PermissionCell extends AskCell<PermissionResolved, PermissionItem> {
  constructor(
    event: Event,
    readonly request: PermissionRequested,
  ) {
    super(event);
  }

  protected build(base: Base): PermissionItem {
    const { request, answer: resolved, abandoned } = this;
    return { ...base, type: "permission", request, resolved, abandoned };
  }
}

export class QuestionCell extends AskCell<QuestionAnswered, QuestionItem> {
  constructor(
    event: Event,
    readonly asked: QuestionAsked,
  ) {
    super(event);
  }

  protected build(base: Base): QuestionItem {
    const { asked, answer: answered, abandoned } = this;
    return { ...base, type: "question", asked, answered, abandoned };
  }
}
