// Open tabs: sessions, order, and the one in front. Remembered by this page.

import { signal, type ReadonlySignal } from "@preact/signals";
import type { Memory } from "../gateway/gateway";
import { asRecord } from "./json";

const KEY = "tabs";
/** Number of closed tabs that can be opened again. */
const REMEMBERED = 20;

export interface Tabs {
  /** Ids of sessions, from left to right. */
  readonly open: readonly string[];
  /** The one in front; undefined only while none is open. */
  readonly active: string | undefined;
}

export class TabsModel {
  readonly #memory: Memory;
  readonly #tabs = signal<Tabs>({ open: [], active: undefined });
  /** The last one closed stands last. */
  #closed: readonly string[] = [];

  constructor(memory: Memory) {
    this.#memory = memory;
    const kept = asRecord(memory.get(KEY));
    const open = [...new Set(strings(kept["open"]))];
    const active = open.find((sessionId) => sessionId === kept["active"]) ?? open[0];
    this.#tabs.value = { open, active };
    this.#closed = strings(kept["closed"]);
  }

  get tabs(): ReadonlySignal<Tabs> {
    return this.#tabs;
  }

  /** Brings a session to the front, in a tab of its own beside the one in front. */
  open(sessionId: string): void {
    const { open, active } = this.#tabs.peek();
    this.#closed = this.#closed.filter((other) => other !== sessionId);
    if (open.includes(sessionId)) this.#set(open, sessionId);
    else
      this.#set(open.toSpliced(active === undefined ? 0 : open.indexOf(active) + 1, 0, sessionId), sessionId);
  }

  /** Shows another session in the tab of one. */
  replace(sessionId: string, other: string): void {
    const { open } = this.#tabs.peek();
    const place = open.indexOf(sessionId);
    if (place < 0 || open.includes(other)) this.open(other);
    else this.#set(open.toSpliced(place, 1, other), other);
  }

  /** The neighbour on the right comes to the front, or else the one on the left. */
  close(sessionId: string): void {
    const { open, active } = this.#tabs.peek();
    const place = open.indexOf(sessionId);
    if (place < 0) return;
    this.#closed = [...this.#closed.filter((other) => other !== sessionId), sessionId].slice(-REMEMBERED);
    const left = open.filter((other) => other !== sessionId);
    this.#set(left, active === sessionId ? (left[place] ?? left.at(-1)) : active);
  }

  /** Takes a tab away for good: its session is not there any more. */
  forget(sessionId: string): void {
    this.close(sessionId);
    this.#closed = this.#closed.filter((other) => other !== sessionId);
    this.#keep();
  }

  move(sessionId: string, place: number): void {
    const { open, active } = this.#tabs.peek();
    if (!open.includes(sessionId)) return;
    const others = open.filter((other) => other !== sessionId);
    this.#set(others.toSpliced(Math.max(0, place), 0, sessionId), active);
  }

  next(): void {
    this.#step(1);
  }

  previous(): void {
    this.#step(-1);
  }

  /** Opens the tab that was closed last; false if there is none. */
  reopen(): boolean {
    const last = this.#closed.at(-1);
    if (last === undefined) return false;
    this.open(last);
    return true;
  }

  #step(by: number): void {
    const { open, active } = this.#tabs.peek();
    if (active === undefined) return;
    this.#set(open, open.at((open.indexOf(active) + by) % open.length));
  }

  #set(open: readonly string[], active: string | undefined): void {
    this.#tabs.value = { open, active };
    this.#keep();
  }

  #keep(): void {
    this.#memory.set(KEY, { ...this.#tabs.peek(), closed: this.#closed });
  }
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === "string") : [];
}
