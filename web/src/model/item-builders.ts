// Builders of timeline items. A builder takes events and rebuilds its item only when it is read after a change, so a
// hundred deltas cost one item.

import type { Event, PlanEntry } from "../generated/portico/v1/events_pb";
import { parseContentBlock } from "./content-block";
import type { AnswerItem, ContentBlock, Item, MarkItem, PlanItem, ThoughtItem, ItemBase } from "./types";

/** Milliseconds since 1970. */
export function timeOf(event: Event): number {
  return event.at === undefined ? 0 : Number(event.at.seconds) * 1000 + Math.floor(event.at.nanos / 1e6);
}

export abstract class ItemBuilder<Kind extends Item = Item> {
  readonly turnId: string;
  #firstSeq: number;
  #lastSeq: number;
  #at: number;
  #item: Kind | undefined;

  constructor(
    readonly key: string,
    first: Event,
  ) {
    this.turnId = first.turnId;
    this.#firstSeq = this.#lastSeq = Number(first.seq);
    this.#at = timeOf(first);
  }

  get firstSeq(): number {
    return this.#firstSeq;
  }

  /** Time at which it began. */
  get at(): number {
    return this.#at;
  }

  get item(): Kind {
    return (this.#item ??= this.build({
      key: this.key,
      firstSeq: this.#firstSeq,
      lastSeq: this.#lastSeq,
      at: new Date(this.#at),
      turnId: this.turnId,
    }));
  }

  protected abstract build(base: ItemBase): Kind;

  protected changed(): void {
    this.#item = undefined;
  }

  protected recordEvent(event: Event): void {
    this.#lastSeq = Number(event.seq);
    this.changed();
  }

  /** The same thing was begun by an older cell, whose page is loaded now. */
  protected takeStartOf(older: ItemBuilder): void {
    this.#firstSeq = older.#firstSeq;
    this.#at = older.#at;
    this.changed();
  }
}

/** One event, one item. */
export class EventItemBuilder extends ItemBuilder {
  constructor(
    event: Event,
    readonly shown: (base: ItemBase) => Item,
  ) {
    super(`${event.seq}`, event);
  }

  protected build(base: ItemBase): Item {
    return this.shown(base);
  }
}

/** An item that grows until another item begins. */
export abstract class RunBuilder<Kind extends Item = Item> extends ItemBuilder<Kind> {
  #partial = false;

  constructor(event: Event) {
    super(`${event.seq}`, event);
  }

  get partial(): boolean {
    return this.#partial;
  }

  set partial(partial: boolean) {
    if (partial !== this.#partial) this.changed();
    this.#partial = partial;
  }

  /** Whether a run that comes next is one with this. */
  abstract continuedBy(next: RunBuilder): boolean;
  abstract close(at: number): void;
  /** Puts an older run, which this one continues, in front. */
  abstract follow(older: RunBuilder): void;
}

/** An answer or a thought. */
export class SpeechBuilder extends RunBuilder<AnswerItem | ThoughtItem> {
  #text = "";
  #blocks: readonly ContentBlock[] = [];
  #lastAt: number;
  #open = true;

  constructor(
    event: Event,
    readonly type: "answer" | "thought",
    readonly messageId: string,
  ) {
    super(event);
    this.#lastAt = this.at;
  }

  isOf(type: SpeechBuilder["type"], messageId: string): boolean {
    return type === this.type && messageId === this.messageId;
  }

  add(event: Event, text: string, blockJson: string): void {
    this.#text += text;
    if (blockJson) this.#blocks = [...this.#blocks, parseContentBlock(blockJson)];
    this.#lastAt = timeOf(event);
    this.recordEvent(event);
  }

  continuedBy(next: RunBuilder): boolean {
    return next instanceof SpeechBuilder && next.isOf(this.type, this.messageId);
  }

  close(at: number): void {
    this.#open = false;
    this.#lastAt = at;
    this.changed();
  }

  follow(older: RunBuilder): void {
    if (!(older instanceof SpeechBuilder)) return;
    this.#text = older.#text + this.#text;
    this.#blocks = [...older.#blocks, ...this.#blocks];
    this.takeStartOf(older);
  }

  protected build(base: ItemBase): AnswerItem | ThoughtItem {
    const said = { ...base, text: this.#text, blocks: this.#blocks, open: this.#open, partial: this.partial };
    return this.type === "answer"
      ? { ...said, type: "answer" }
      : { ...said, type: "thought", durationMs: Math.max(0, this.#lastAt - this.at) };
  }
}

/** A quiet line. The same line again, with nothing in between, is not said twice. */
export class MarkBuilder extends RunBuilder<MarkItem> {
  constructor(
    event: Event,
    readonly text: string,
  ) {
    super(event);
  }

  add(event: Event): void {
    this.recordEvent(event);
  }

  continuedBy(next: RunBuilder): boolean {
    return next instanceof MarkBuilder && next.text === this.text;
  }

  close(): void {
    // A mark has no end of its own.
  }

  follow(older: RunBuilder): void {
    this.takeStartOf(older);
  }

  protected build(base: ItemBase): MarkItem {
    return { ...base, type: "mark", text: this.text };
  }
}

/** The plan of one turn, as it is now. */
export class PlanBuilder extends ItemBuilder<PlanItem> {
  #entries: readonly PlanEntry[] = [];

  constructor(event: Event) {
    super(PlanBuilder.keyOf(event.turnId), event);
  }

  static keyOf(turnId: string): string {
    return `plan ${turnId}`;
  }

  replace(event: Event, entries: readonly PlanEntry[]): void {
    this.#entries = entries;
    this.recordEvent(event);
  }

  follow(older: PlanBuilder): void {
    this.takeStartOf(older);
  }

  protected build(base: ItemBase): PlanItem {
    return { ...base, type: "plan", entries: this.#entries };
  }
}
