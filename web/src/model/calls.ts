// Tool calls, permissions and questions while they are under way: things with a beginning, an end,
// and a turn that may end before they do.

import {
  ToolKind,
  ToolStatus,
  type Event,
  type Location,
  type PermissionRequested,
  type PermissionResolved,
  type QuestionAnswered,
  type QuestionAsked,
  type TerminalOutput,
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
    this.#hear(event, { ...change(updated), status: said(updated.status) });
  }

  complete(event: Event, completed: ToolCompleted): void {
    this.#hear(event, {
      ...change(completed),
      status: completed.success ? ToolStatus.COMPLETED : ToolStatus.FAILED,
      durationMs: Number(completed.durationMs),
    });
  }

  /** Puts what an older page said of the same call in front. */
  follow(older: ToolCell): void {
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

  #print(output: TerminalOutput): void {
    const printed = this.#terminals.get(output.terminalId)?.text ?? "";
    this.#terminals.set(output.terminalId, { text: printed + output.text, last: output });
  }
}

function change(told: ToolUpdated | ToolCompleted): Said {
  return {
    title: told.title,
    kind: said(told.toolKind),
    content: told.content?.parts,
    locations: told.locations?.locations,
    inputJson: told.inputJson,
    outputJson: told.outputJson,
  };
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
