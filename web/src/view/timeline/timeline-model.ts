// View state of one timeline: rows, the reader's position, and missed items.

import { computed, effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { SessionModel } from "../../model/types";
import { preferencesOf } from "../preferences";
import { pinnedPlan } from "./checklist";
import { COMPOSER } from "../shell/composer-focus";
import { keptOpen } from "./row-context";
import { Finder } from "./finder";
import { ListView, type ScrollPosition } from "./list-view";
import { itemsOf, RowFold, type TimelineRow } from "./timeline-rows";
import type { RevealTarget } from "./request-reveal";
import { hasMatch } from "./text-search";

/** Most pages that are loaded to reach an old message. */
const MOST_PAGES = 1_000;

interface LeftPosition extends ScrollPosition {
  /** The last event that was there. */
  readonly lastSeq: number | undefined;
}

/** Position of the reader of a session when they switched to another one. */
const left = new WeakMap<SessionModel, LeftPosition>();

export class TimelineModel {
  readonly view = new ListView<TimelineRow>(() => void this.#loadNearTop());
  readonly loading = signal(false);
  readonly rows: ReadonlySignal<readonly TimelineRow[]>;
  readonly finder: Finder;
  /** Items that came since the reader left the end. */
  readonly missed: ReadonlySignal<number>;
  readonly #session: SessionModel;
  #lastPrompt = 0;
  readonly #leftAt = signal<number | undefined>(undefined);

  constructor(session: SessionModel, gateway: Gateway) {
    this.#session = session;
    const fold = new RowFold();
    const { showThinking } = preferencesOf(gateway.memory);
    const planKey = computed(() =>
      pinnedPlan(session).length === 0
        ? undefined
        : session.items.value.findLast((item) => item.type === "plan")?.key,
    );
    this.rows = computed(() =>
      fold.fold(session.items.value, { showThinking: showThinking.value, pinnedPlan: planKey.value }),
    );
    this.missed = computed(() => {
      const leftAt = this.#leftAt.value;
      if (leftAt === undefined) return 0;
      const items = session.items.value;
      let count = 0;
      for (let index = items.length - 1; (items[index]?.firstSeq ?? 0) > leftAt; index -= 1) count += 1;
      return count;
    });
    this.finder = new Finder({
      rows: this.rows,
      show: (row, matcher) => this.#unfold(row, matcher),
      elementOf: (key) => this.view.elementOf(key),
      left: () => this.view.focus(),
      firstVisible: () => this.view.firstVisible,
      loadEarlier: async () => {
        const more = session.hasEarlier.peek();
        const before = session.items.peek();
        if (more) await session.loadEarlier();
        return more && session.items.peek() !== before;
      },
    });
  }

  /** Follows the session; the answer ends it. */
  start(): () => void {
    const stopRows = effect(() => {
      const rows = this.rows.value;
      untracked(() => {
        this.view.setRows(rows);
        this.#followOwnWords(rows.at(-1));
      });
    });
    const stopLeaving = effect(() => {
      const follows = this.view.following.value;
      this.#leftAt.value = follows ? undefined : this.#session.items.peek().at(-1)?.lastSeq;
    });
    return () => {
      stopRows();
      stopLeaving();
      this.finder.close();
    };
  }

  /** Remembers the reader's position for the next visit. */
  leave(): void {
    const { mark } = this.view;
    const lastSeq = this.#leftAt.peek();
    if (mark === undefined) left.delete(this.#session);
    else left.set(this.#session, { ...mark, lastSeq });
  }

  comeBack(): void {
    const place = left.get(this.#session);
    if (place === undefined) return;
    this.view.scrollTo(place);
    if (!this.view.following.peek()) this.#leftAt.value = place.lastSeq;
  }

  /** To the prompt before or after the one at the upper edge; past the last one, to the end. */
  stepPrompt(direction: 1 | -1): void {
    const rows = this.rows.peek();
    const isPrompt = (row: TimelineRow): boolean => row.type === "item" && row.item.type === "prompt";
    const from = this.view.firstVisible;
    const next =
      direction === 1 ? rows.slice(from + 1).find(isPrompt) : rows.slice(0, from).findLast(isPrompt);
    if (next !== undefined) {
      this.view.scrollToRow(next.key);
      this.#focus(next.key);
    } else if (direction === 1) {
      this.view.scrollToEnd();
    }
  }

  /** Brings the card of a request, or a message, into view. */
  reveal(target: RevealTarget): void {
    if ("seq" in target) void this.#revealMessage(target.seq);
    else this.#revealRequest(target.requestId);
  }

  /** Loads earlier pages until the event is there. */
  async #revealMessage(seq: number): Promise<void> {
    const session = this.#session;
    await becomes(session.items, (items) => items.length > 0);
    for (let pages = 0; pages < MOST_PAGES && session.hasEarlier.peek(); pages += 1) {
      const before = session.items.peek();
      if ((before[0]?.firstSeq ?? 0) <= seq) break;
      await session.loadEarlier();
      if (session.items.peek() === before) break;
    }
    const row = this.rows.peek().findLast((one) => itemsOf(one).some(({ firstSeq }) => firstSeq <= seq));
    if (row === undefined) return;
    const item = itemsOf(row).findLast(({ firstSeq }) => firstSeq <= seq);
    if (row.type === "steps") keptOpen(session, `steps ${row.key}`).value = true;
    if (item?.type === "tool" || item?.type === "thought") keptOpen(session, item.key).value = true;
    this.view.scrollToRow(row.key);
  }

  #revealRequest(requestId: string): void {
    const row = this.rows
      .peek()
      .findLast(
        (one) =>
          one.type === "item" &&
          ((one.item.type === "permission" && one.item.request.requestId === requestId) ||
            (one.item.type === "question" && one.item.asked.requestId === requestId)),
      );
    if (row !== undefined) this.view.scrollToRow(row.key);
  }

  /** Scrolls to the end after the user sent a prompt. */
  #followOwnWords(last: TimelineRow | undefined): void {
    const isPrompt = last?.type === "item" && last.item.type === "prompt";
    const isNews = isPrompt && last.item.lastSeq > this.#lastPrompt;
    if (isPrompt) this.#lastPrompt = last.item.lastSeq;
    if (isNews && document.activeElement?.matches(COMPOSER) === true) this.view.scrollToEnd();
  }

  #focus(key: string): void {
    requestAnimationFrame(() => this.view.elementOf(key)?.focus({ preventScroll: true }));
  }

  #unfold(row: TimelineRow, matcher: RegExp): void {
    const session = this.#session;
    if (row.type === "steps") keptOpen(session, `steps ${row.key}`).value = true;
    for (const item of itemsOf(row)) {
      const folds = item.type === "tool" || item.type === "thought" || item.type === "plan";
      if (folds && hasMatch(item, matcher)) keptOpen(session, item.key).value = true;
      else if (item.type === "prompt") keptOpen(session, `prompt ${item.key}`).value = true;
    }
    this.view.scrollToRow(row.key);
  }

  async #loadNearTop(): Promise<void> {
    const session = this.#session;
    if (this.loading.peek() || !session.hasEarlier.peek()) return;
    const before = session.items.peek();
    this.loading.value = true;
    await session.loadEarlier();
    this.loading.value = false;
    // If nothing came, scrolling asks again.
    if (session.items.peek() !== before) this.view.look();
  }
}

/** Resolves when a signal has a value that is wanted. */
function becomes<T>(signal: ReadonlySignal<T>, isWanted: (value: T) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const end = effect(() => {
      if (!isWanted(signal.value)) return;
      resolve();
      queueMicrotask(() => end());
    });
  });
}
