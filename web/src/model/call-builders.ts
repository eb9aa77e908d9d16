// Builders of tool calls, permission requests and questions, whose turn may end before they do.

import { create } from "@bufbuild/protobuf";
import {
  ToolKind,
  ToolStatus,
  type Event,
  type FileProblems,
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
import { ItemBuilder } from "./item-builders";
import type { Item, PermissionItem, QuestionItem, TerminalText, ToolItem, ItemBase } from "./types";

/** A call that may still be open when its turn ends. */
export abstract class CallBuilder<Kind extends Item = Item> extends ItemBuilder<Kind> {
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

/** Known fields of a tool call; undefined fields have not been reported. */
interface ToolFacts {
  readonly title?: string | undefined;
  readonly kind?: ToolKind | undefined;
  readonly status?: ToolStatus | undefined;
  readonly name?: string | undefined;
  readonly content?: readonly ToolPart[] | undefined;
  readonly locations?: readonly Location[] | undefined;
  readonly inputJson?: string | undefined;
  readonly outputJson?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly readOnly?: boolean | undefined;
  readonly stoppable?: boolean | undefined;
  readonly problems?: readonly FileProblems[] | undefined;
}

export class ToolBuilder extends CallBuilder<ToolItem> {
  #facts: ToolFacts = {};
  #partial = false;
  /** The continuation of content whose start is on an older page. */
  #pendingGrowth: TextGrowth | undefined;
  #terminals = new Map<string, TerminalText>();

  constructor(
    event: Event,
    readonly toolId: string,
  ) {
    super(ToolBuilder.keyOf(event.turnId, toolId), event);
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
    this.#record(event, {
      title: started.title,
      kind: known(started.toolKind),
      status: known(started.status),
      name: started.name,
      content: started.content,
      locations: started.locations,
      inputJson: started.inputJson,
      outputJson: started.outputJson,
      readOnly: started.readOnly,
      stoppable: started.stoppable,
    });
  }

  update(event: Event, updated: ToolUpdated): void {
    if (updated.terminal !== undefined) this.#print(updated.terminal);
    const told = this.#change(updated);
    const content = updated.grown === undefined ? told.content : this.#grow(updated.grown);
    const problems = updated.problems?.files;
    this.#record(event, { ...told, content, status: known(updated.status), problems });
  }

  complete(event: Event, completed: ToolCompleted): void {
    this.#record(event, {
      ...this.#change(completed),
      status: completed.success ? ToolStatus.COMPLETED : ToolStatus.FAILED,
      durationMs: Number(completed.durationMs),
    });
  }

  /** Prepends the fields of the same call from an older page. */
  follow(older: ToolBuilder): void {
    const { content } = older.#facts;
    if (this.#pendingGrowth !== undefined && content !== undefined)
      this.#facts = { ...this.#facts, content: appendText(content, this.#pendingGrowth) };
    this.#pendingGrowth = older.#pendingGrowth;
    this.#facts = mergeFacts(older.#facts, this.#facts);
    this.#partial = older.#partial;
    const newer = this.#terminals;
    this.#terminals = new Map(older.#terminals);
    for (const [id, output] of newer) {
      this.#terminals.set(id, {
        text: (older.#terminals.get(id)?.text ?? "") + output.text,
        last: output.last,
      });
    }
    this.takeStartOf(older);
  }

  protected get ended(): boolean {
    return this.#facts.status === ToolStatus.COMPLETED || this.#facts.status === ToolStatus.FAILED;
  }

  protected build(base: ItemBase): ToolItem {
    const told = this.#facts;
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
      readOnly: told.readOnly ?? false,
      stoppable: told.stoppable ?? false,
      problems: told.problems ?? [],
      partial: this.#partial,
      abandoned: this.abandoned,
    };
  }

  #record(event: Event, more: ToolFacts): void {
    this.#facts = mergeFacts(this.#facts, more);
    this.recordEvent(event);
  }

  #change(told: ToolUpdated | ToolCompleted): ToolFacts {
    const content = told.content?.parts;
    if (content !== undefined) this.#pendingGrowth = undefined;
    return {
      title: told.title,
      kind: known(told.toolKind),
      content,
      locations: told.locations?.locations,
      inputJson: told.inputJson,
      outputJson: told.outputJson,
    };
  }

  #grow(growth: TextGrowth): readonly ToolPart[] {
    const { content } = this.#facts;
    if (content === undefined) this.#pendingGrowth = growth;
    else if (this.#pendingGrowth !== undefined) this.#pendingGrowth = joinGrowth(this.#pendingGrowth, growth);
    return appendText(content ?? [], growth);
  }

  #print(output: TerminalOutput): void {
    const printed = this.#terminals.get(output.terminalId)?.text ?? "";
    this.#terminals.set(output.terminalId, { text: printed + output.text, last: output });
  }
}

/** Content with text appended. If it began before the known content, only its end is known. */
function appendText(content: readonly ToolPart[], { dropped, text }: TextGrowth): readonly ToolPart[] {
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

function joinGrowth(before: TextGrowth, after: TextGrowth): TextGrowth {
  const kept = Math.max(before.text.length - after.dropped, 0);
  const beyond = Math.max(after.dropped - before.text.length, 0);
  return { ...before, dropped: before.dropped + beyond, text: before.text.slice(0, kept) + after.text };
}

function mergeFacts(before: ToolFacts, more: ToolFacts): ToolFacts {
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
    readOnly: more.readOnly ?? before.readOnly,
    stoppable: more.stoppable ?? before.stoppable,
    problems: more.problems ?? before.problems,
  };
}

/** Zero means unset on the wire. */
function known<Choice extends number>(choice: Choice): Choice | undefined {
  return choice === 0 ? undefined : choice;
}

/** A request that waits for the person's answer. */
export abstract class RequestBuilder<Answer = unknown, Kind extends Item = Item> extends CallBuilder<Kind> {
  protected answer: Answer | undefined;

  constructor(event: Event) {
    super(`${event.seq}`, event);
  }

  settle(event: Event, answer: Answer): void {
    if (this.answer !== undefined) return;
    this.answer = answer;
    this.recordEvent(event);
  }

  protected get ended(): boolean {
    return this.answer !== undefined;
  }
}

export class PermissionBuilder extends RequestBuilder<PermissionResolved, PermissionItem> {
  constructor(
    event: Event,
    readonly request: PermissionRequested,
  ) {
    super(event);
  }

  protected build(base: ItemBase): PermissionItem {
    const { request, answer: resolved, abandoned } = this;
    return { ...base, type: "permission", request, resolved, abandoned };
  }
}

export class QuestionBuilder extends RequestBuilder<QuestionAnswered, QuestionItem> {
  constructor(
    event: Event,
    readonly asked: QuestionAsked,
  ) {
    super(event);
  }

  protected build(base: ItemBase): QuestionItem {
    const { asked, answer: answered, abandoned } = this;
    return { ...base, type: "question", asked, answered, abandoned };
  }
}
