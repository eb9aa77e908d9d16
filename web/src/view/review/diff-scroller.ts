// Virtual scrolling of a long diff. The head of a visible file is always rendered and sticks to the top. What the
// reader looks at stays in place when the width changes.

import { signal, type ReadonlySignal } from "@preact/signals";
import { RowElements } from "../timeline/row-elements";
import { covers, RowLayout, type RowRange } from "../timeline/row-layout";
import { showsLineOf, type DiffRow, type FileSection } from "./diff-rows";

const LEAST_MARGIN = 300;

export interface ShownSection {
  readonly section: FileSection;
  readonly rows: readonly DiffRow[];
  /** The height of the rows of this file that are left out, in pixels. */
  readonly before: number;
  readonly after: number;
}

export interface ShownSections {
  readonly sections: readonly ShownSection[];
  readonly before: number;
  readonly after: number;
}

export class DiffScroller {
  readonly #shown = signal<ShownSections>({ sections: [], before: 0, after: 0 });
  readonly #top = signal<string | undefined>(undefined);
  readonly #layout = new RowLayout();
  readonly #elements = new RowElements(this.#layout);
  #sections: readonly FileSection[] = [];
  #rows: readonly (DiffRow | FileSection)[] = [];
  /** Index of the head row of each file. */
  #heads: readonly number[] = [];
  #range: RowRange = { first: 0, end: 0 };
  #scroller: HTMLElement | undefined;
  #frame: number | undefined;
  /** The row that has to stay in its place, so far below the upper edge, until the reader scrolls. */
  #goal: { readonly key: string; readonly room: number } | undefined;
  /** The row that the reader scrolled to. */
  #reader: { readonly row: DiffRow | FileSection; readonly room: number } | undefined;
  #width = 0;
  /** Last position set by code; any other one was set by the reader. */
  #scrolledTo = -1;

  get shown(): ReadonlySignal<ShownSections> {
    return this.#shown;
  }

  /** The path of the file at the upper edge. */
  get top(): ReadonlySignal<string | undefined> {
    return this.#top;
  }

  attach(scroller: HTMLElement): () => void {
    const observer = new ResizeObserver((entries) => this.#resized(entries));
    this.#scroller = scroller;
    this.#width = scroller.clientWidth;
    observer.observe(scroller);
    this.#elements.observe(observer);
    const onScroll = (): void => {
      if (scroller.scrollTop !== this.#scrolledTo) this.#read();
      this.#choose();
    };
    scroller.addEventListener("scroll", onScroll, { passive: true });
    this.#show();
    return () => {
      scroller.removeEventListener("scroll", onScroll);
      observer.disconnect();
      this.#elements.observe(undefined);
      if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
      this.#frame = undefined;
      this.#scroller = undefined;
    };
  }

  setSections(sections: readonly FileSection[]): void {
    this.#sections = sections;
    const rows: (DiffRow | FileSection)[] = [];
    const heads: number[] = [];
    for (const section of sections) {
      heads.push(rows.length);
      rows.push(section);
      for (const row of section.rows) rows.push(row);
    }
    this.#heads = heads;
    this.#rows = rows;
    this.#layout.setRows(rows);
    const { key } = this.#goal ?? this.#reader?.row ?? {};
    if (key !== undefined && this.#layout.indexOf(key) === undefined) this.#stay();
    this.#show();
  }

  /** A row came to the page, or left it. */
  setElement(key: string, element: HTMLElement | null): void {
    this.#elements.set(key, element);
  }

  elementOf(key: string): HTMLElement | undefined {
    return this.#elements.get(key);
  }

  /** Brings a row into view, below the head of its file and with a little room; not if it is well in sight. */
  scrollTo(key: string, { always = false } = {}): void {
    const index = this.#layout.indexOf(key);
    if (this.#scroller === undefined || index === undefined) return;
    const scroller = this.#scroller;
    const isHead = this.#heads.includes(index);
    const room = isHead ? 0 : this.#headHeight(index) + 24;
    const top = this.#layout.offset(index) - room;
    const isInSight =
      top >= scroller.scrollTop &&
      this.#layout.offset(index + 1) + 120 < scroller.scrollTop + scroller.clientHeight;
    if (isInSight && !always) return;
    this.#scroll(top);
    this.#goal = { key, room };
    this.#reader = undefined;
    this.#show();
  }

  /** The page has been changed as `shown` wanted it: guesses about heights may have moved the goal. */
  committed(): void {
    if (this.#scroller === undefined || this.#goal === undefined) return;
    const scroller = this.#scroller;
    const { key, room } = this.#goal;
    const element = this.#elements.get(key);
    if (element === undefined) return;
    // A head that sticks says nothing about where it belongs.
    const isHead = this.#sections.some((section) => section.key === key);
    const mark = isHead ? element.parentElement : element;
    const distance = (mark ?? element).getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    if (Math.abs(distance - room) >= 1) this.#scroll(scroller.scrollTop + distance - room);
  }

  #scroll(top: number): void {
    if (this.#scroller === undefined) return;
    // The browser would move it too, after its own idea of what stays.
    this.#scroller.style.overflowAnchor = "none";
    this.#scroller.scrollTop = top;
    this.#scrolledTo = this.#scroller.scrollTop;
  }

  /** Remembers the first row below the head of its file. */
  #read(): void {
    if (this.#scroller === undefined) return;
    const { scrollTop, style } = this.#scroller;
    style.overflowAnchor = "";
    const index = this.#layout.indexAt(scrollTop + this.#headHeight(this.#layout.indexAt(scrollTop)));
    const row = this.#rows[index];
    this.#goal = undefined;
    this.#scrolledTo = -1;
    this.#reader = row && scrollTop > 0 ? { row, room: this.#layout.offset(index) - scrollTop } : undefined;
  }

  /** Everything has another height now, and lines may stand beside each other or not. */
  #stay(): void {
    if (this.#reader !== undefined) {
      const { row, room } = this.#reader;
      const same = this.#rows.find((one) => one.key === row.key || showsLineOf(one, row));
      this.#goal = same && { key: same.key, room };
    }
    const index = this.#goal && this.#layout.indexOf(this.#goal.key);
    if (this.#goal && index !== undefined) this.#scroll(this.#layout.offset(index) - this.#goal.room);
  }

  #headHeight(index: number): number {
    const head = this.#heads.findLast((one) => one <= index) ?? 0;
    return this.#layout.offset(head + 1) - this.#layout.offset(head);
  }

  #resized(entries: readonly ResizeObserverEntry[]): void {
    this.#elements.measure(entries);
    const { clientWidth } = this.#scroller ?? { clientWidth: this.#width };
    if (clientWidth !== this.#width) {
      this.#width = clientWidth;
      this.#stay();
    }
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#show();
    });
  }

  #choose(): void {
    if (this.#scroller === undefined) return;
    const { scrollTop, clientHeight } = this.#scroller;
    const near = this.#layout.range(scrollTop - clientHeight / 4, scrollTop + clientHeight * 1.25);
    if (!covers(this.#range, near)) this.#show();
    else this.#lookAtTop();
  }

  #show(): void {
    if (this.#scroller === undefined) return;
    const { scrollTop, clientHeight } = this.#scroller;
    const margin = Math.max(LEAST_MARGIN, clientHeight / 2);
    const range = this.#layout.range(scrollTop - margin, scrollTop + clientHeight + margin);
    this.#keepFocus(range);
    this.#range = range;
    const sections: ShownSection[] = [];
    let before = 0;
    let end = 0;
    for (const [index, section] of this.#sections.entries()) {
      const head = this.#heads[index] ?? 0;
      const next = head + 1 + section.rows.length;
      if (next <= range.first) continue;
      if (head >= range.end) break;
      if (sections.length === 0) before = this.#layout.offset(head);
      const first = Math.max(head + 1, Math.min(range.first, next));
      const last = Math.max(first, Math.min(range.end, next));
      sections.push({
        section,
        rows: section.rows.slice(first - head - 1, last - head - 1),
        before: this.#layout.offset(first) - this.#layout.offset(head + 1),
        after: this.#layout.offset(next) - this.#layout.offset(last),
      });
      end = this.#layout.offset(next);
    }
    this.#shown.value = { sections, before, after: Math.max(0, this.#layout.total - end) };
    this.#lookAtTop();
  }

  #lookAtTop(): void {
    const index = this.#layout.indexAt((this.#scroller?.scrollTop ?? 0) + 1);
    const file = this.#heads.findLastIndex((head) => head <= index);
    this.#top.value = this.#sections[file]?.file.path;
  }

  /** Moves the focus to the list when the focused row is no longer rendered. */
  #keepFocus(range: RowRange): void {
    const scroller = this.#scroller;
    const index = this.#elements.indexOf(document.activeElement, scroller);
    if (index === undefined || this.#heads.includes(index)) return;
    if (index < range.first || index >= range.end) scroller?.focus({ preventScroll: true });
  }
}
