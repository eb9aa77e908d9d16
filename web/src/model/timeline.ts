// Timeline of one session: every event once, in order, as items. Its owner loads pages and fills gaps.

import type { Event } from "../generated/portico/v1/events_pb";
import { EventFold } from "./event-fold";
import type { Item } from "./types";

/** Events that are missing: nothing from there on was taken. */
export interface MissingEvents {
  readonly firstMissing: number;
  readonly lastMissing: number;
}

export class Timeline {
  #fold: EventFold | undefined;
  #items: readonly Item[] | undefined = [];
  #firstSeq = 0;
  #lastSeq = 0;

  /** The first and the last event it has; zero while it has none. */
  get firstSeq(): number {
    return this.#firstSeq;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** A new array after each change; items that did not change are the same objects. */
  get items(): readonly Item[] {
    return (this.#items ??= this.#fold?.snapshot() ?? []);
  }

  /** Takes newer events. The first of all may stand anywhere in the log. */
  append(events: readonly Event[]): MissingEvents | undefined {
    for (const event of events) {
      const seq = Number(event.seq);
      if (this.#fold === undefined) {
        this.#fold = new EventFold(event);
        this.#firstSeq = seq;
      } else if (seq <= this.#lastSeq) {
        continue;
      } else if (seq > this.#lastSeq + 1) {
        return { firstMissing: this.#lastSeq + 1, lastMissing: seq - 1 };
      }
      this.#fold.take(event);
      this.#lastSeq = seq;
      this.#items = undefined;
    }
    return undefined;
  }

  /** Takes the page right before its first event, oldest first. Takes all of it or nothing. */
  prepend(events: readonly Event[]): MissingEvents | undefined {
    if (this.#fold === undefined) return this.append(events);
    const older = new Timeline();
    const gap = older.append(events.filter((event) => Number(event.seq) < this.#firstSeq));
    if (gap !== undefined) return gap;
    if (older.#fold === undefined) return undefined;
    if (older.#lastSeq !== this.#firstSeq - 1) {
      return { firstMissing: older.#lastSeq + 1, lastMissing: this.#firstSeq - 1 };
    }
    this.#fold.prepend(older.#fold);
    this.#firstSeq = older.#firstSeq;
    this.#items = undefined;
    return undefined;
  }
}
