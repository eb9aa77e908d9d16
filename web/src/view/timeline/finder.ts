// Search through the rows of a timeline, with highlights for rendered matches.

import { computed, signal, type ReadonlySignal } from "@preact/signals";
import { itemsOf, type TimelineRow } from "./timeline-rows";
import { hasMatch, matcherOf } from "./text-search";

/** The names of the highlights in style/timeline-find.css. */
const FOUND = "p-found";
const CURRENT = "p-found-current";
const MOST_MARKS = 1_000;

export interface FinderPorts {
  readonly rows: ReadonlySignal<readonly TimelineRow[]>;
  /** Opens whatever folds the words away and brings the row into view. */
  show(row: TimelineRow, matcher: RegExp): void;
  elementOf(key: string): HTMLElement | undefined;
  firstVisible(): number;
  /** The box was closed: the focus returns to the conversation. */
  left(): void;
  /** One page more; false if there is none. */
  loadEarlier(): Promise<boolean>;
}

export class Finder {
  readonly open = signal(false);
  readonly query = signal("");
  /** Looks through what is not loaded yet. */
  readonly looking = signal(false);
  readonly #ports: FinderPorts;
  readonly #current = signal<string | undefined>(undefined);
  #place = 0;

  readonly matcher = computed(() => matcherOf(this.query.value));
  /** The rows that have the words. */
  readonly hits: ReadonlySignal<readonly TimelineRow[]> = computed(() => {
    const matcher = this.matcher.value;
    if (!this.open.value || matcher === undefined) return [];
    return this.#ports.rows.value.filter((row) => itemsOf(row).some((item) => hasMatch(item, matcher)));
  });
  /** Number of the current hit, counted from one; zero if none is. */
  readonly position = computed(() => this.hits.value.findIndex((row) => row.key === this.#current.value) + 1);

  constructor(ports: FinderPorts) {
    this.#ports = ports;
  }

  setQuery(query: string): void {
    this.query.value = query;
    const hits = this.hits.peek();
    const from = this.#ports.firstVisible();
    const rows = this.#ports.rows.peek();
    const next = hits.find((row) => rows.indexOf(row) >= from) ?? hits.at(-1);
    this.#go(next, 0);
  }

  /** To the next place with the words, or to the one before; after the last one comes the first. */
  step(direction: 1 | -1): void {
    const hits = this.hits.peek();
    const index = this.position.peek() - 1;
    const here = index < 0 ? [] : this.#ranges(hits[index]?.key ?? "");
    const next = this.#place + direction;
    if (next >= 0 && next < here.length) {
      this.#go(hits[index], next);
    } else {
      const row = hits[(Math.max(index, direction === 1 ? -1 : 0) + direction + hits.length) % hits.length];
      this.#go(row, direction === 1 ? 0 : Infinity);
    }
  }

  /** Loads earlier pages until one has the words. */
  async lookFurther(): Promise<void> {
    const query = this.query.peek();
    const before = this.hits.peek().length;
    this.looking.value = true;
    while (this.open.peek() && this.query.peek() === query && this.hits.peek().length === before) {
      if (!(await this.#ports.loadEarlier())) break;
    }
    this.looking.value = false;
    if (this.hits.peek().length > before) this.#go(this.hits.peek()[0], 0);
  }

  close(): void {
    if (!this.open.peek()) return;
    this.open.value = false;
    this.#current.value = undefined;
    CSS.highlights.delete(FOUND);
    CSS.highlights.delete(CURRENT);
    this.#ports.left();
  }

  /** Marks the words in the rows that are on the page. */
  mark(): void {
    const ranges: Range[] = [];
    for (const { key } of this.hits.peek()) {
      if (ranges.length >= MOST_MARKS) break;
      ranges.push(...this.#ranges(key));
    }
    CSS.highlights.set(FOUND, new Highlight(...ranges));
    const current = this.#ranges(this.#current.peek() ?? "");
    const chosen = current[Math.min(this.#place, current.length - 1)];
    CSS.highlights.set(CURRENT, new Highlight(...(chosen === undefined ? [] : [chosen])));
  }

  #go(row: TimelineRow | undefined, place: number): void {
    this.#current.value = row?.key;
    this.#place = place;
    const matcher = this.matcher.peek();
    if (row === undefined || matcher === undefined) return;
    this.#ports.show(row, matcher);
    // After the next frame the fold is open and the row is on the page.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const ranges = this.#ranges(row.key);
        this.#place = Math.max(0, Math.min(place, ranges.length - 1));
        this.mark();
        const element = ranges[this.#place]?.startContainer.parentElement;
        element?.scrollIntoView({ block: "center" });
      }),
    );
  }

  /** Ranges of the words in a row; words that are split over several elements are not found. */
  #ranges(key: string): Range[] {
    const element = this.#ports.elementOf(key);
    const matcher = this.matcher.peek();
    if (element === undefined || matcher === undefined) return [];
    const every = new RegExp(matcher.source, "giu");
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const ranges: Range[] = [];
    while (walker.nextNode() !== null && ranges.length < MOST_MARKS) {
      const node = walker.currentNode;
      for (const match of (node.nodeValue ?? "").matchAll(every)) {
        const range = document.createRange();
        range.setStart(node, match.index);
        range.setEnd(node, match.index + match[0].length);
        ranges.push(range);
      }
    }
    return ranges;
  }
}
