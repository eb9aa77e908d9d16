// Virtual scrolling of a long list. The reader is either at the end, which is followed, or at a row, which stays in
// place.

import { signal, type ReadonlySignal } from "@preact/signals";
import { ScrollAnchor, blocksOf, firstBelow } from "./scroll-anchor";
import { RowElements } from "./row-elements";
import { covers, RowLayout, type RowRange, type RowPlace } from "./row-layout";

/** Within this distance the reader is at the end, in pixels. */
const NEAR_END = 40;
const TOUCHING = 2;
/** Space left above a row that was jumped to. */
const HEADROOM = 8;
const LEAST_MARGIN = 400;
/** A selection keeps the rows it reaches over on the page, up to so many. */
const MOST_SELECTED = 300;

export interface ShownRows<Row> {
  readonly rows: readonly Row[];
  /** The height of what is left out before and after, in pixels. */
  readonly before: number;
  readonly after: number;
}

/** A place in the list: a row or a block of text in it, and how far below its beginning the upper edge is, in pixels. */
export interface ScrollPosition {
  readonly key: string;
  readonly block?: number;
  readonly within: number;
}

/** The elements that a list is made of. */
export interface ListElements {
  readonly scroller: HTMLElement;
  /** Everything that scrolls. */
  readonly content: HTMLElement;
  /** Stands where the first row would begin if all were on the page. */
  readonly start: HTMLElement;
  /** Holds the rows, and nothing else. */
  readonly list: HTMLElement;
}

interface Place extends ListElements {
  readonly observer: ResizeObserver;
  readonly anchor: ScrollAnchor;
}

export class ListView<Row extends RowPlace> {
  readonly #shown = signal<ShownRows<Row>>({ rows: [], before: 0, after: 0 });
  readonly #following = signal(true);
  readonly #layout = new RowLayout();
  readonly #elements = new RowElements(this.#layout);
  #rows: readonly Row[] = [];
  #range: RowRange = { first: 0, end: 0 };
  #place: Place | undefined;
  #lastTop = 0;
  #goal: ScrollPosition | undefined;
  /** The row that is opening or closing; meanwhile the end is not followed. */
  #opening: Element | undefined;
  #soon: ReturnType<typeof setTimeout> | undefined;

  /** `nearTop` is called, perhaps often, while the reader is near the beginning of the rows. */
  constructor(readonly nearTop: () => void) {}

  get shown(): ReadonlySignal<ShownRows<Row>> {
    return this.#shown;
  }

  /** Whether the reader is at the end and stays there. */
  get following(): ReadonlySignal<boolean> {
    return this.#following;
  }

  /** Begins to watch the elements; the answer ends it. */
  attach(frame: ListElements): () => void {
    const { scroller } = frame;
    const observer = new ResizeObserver((entries) => this.#resized(entries));
    this.#place = { ...frame, observer, anchor: new ScrollAnchor(scroller) };
    observer.observe(scroller);
    observer.observe(frame.content);
    this.#elements.observe(observer);
    const onScroll = (): void => this.#scrolled();
    scroller.addEventListener("scroll", onScroll, { passive: true });
    this.#choose();
    return () => {
      scroller.removeEventListener("scroll", onScroll);
      observer.disconnect();
      this.#elements.observe(undefined);
      clearTimeout(this.#soon);
      this.#soon = undefined;
      this.#place = undefined;
    };
  }

  /** Takes the rows as they are now. */
  setRows(rows: readonly Row[]): void {
    const top = this.#top;
    const key = this.#rows[this.#layout.indexAt(top)]?.key;
    const within = key === undefined ? 0 : top - this.#layout.offset(this.#layout.indexOf(key) ?? 0);
    if (!this.#follows && this.#hasMoved()) this.#hold();
    this.#rows = rows;
    this.#layout.setRows(rows);
    const index = key === undefined ? undefined : this.#layout.indexOf(key);
    this.#show(index === undefined ? top : this.#layout.offset(index) + within);
  }

  /** A row came to the page, or left it. */
  setElement(key: string, element: HTMLElement | null): void {
    this.#elements.set(key, element);
  }

  /** Keeps a row that opens or closes under the mouse, also at the end of the list. */
  steady(element: Element): void {
    if (this.#place === undefined) return;
    const { scroller, anchor } = this.#place;
    this.#opening = element;
    anchor.holdElement(element);
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (this.#opening !== element) return;
        this.#opening = undefined;
        const left = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
        this.#following.value = left <= NEAR_END;
      }),
    );
  }

  /**
   * One element in a row is about to take the place of another that ends with the same blocks of
   * text. Call the result when it has.
   */
  exchange(before: Element, after: Element): () => void {
    const settle = this.#follows ? undefined : this.#place?.anchor.exchange(before, after);
    return () => {
      settle?.();
      // The anchor's position is measured from here, even if the content was cut short meanwhile.
      if (settle !== undefined && this.#place !== undefined) this.#lastTop = this.#place.scroller.scrollTop;
      this.#keep();
    };
  }

  elementOf(key: string): HTMLElement | undefined {
    return this.#elements.get(key);
  }

  /** The page has been changed as `shown` wanted it. */
  committed(): void {
    if (this.#goal !== undefined) this.#reach(this.#goal);
    else this.#keep();
  }

  /** Updates the visible rows, and loads earlier ones if needed. */
  look(): void {
    this.#choose();
  }

  focus(): void {
    this.#place?.scroller.focus({ preventScroll: true });
  }

  scrollToEnd(): void {
    if (this.#isSelecting()) document.getSelection()?.empty();
    this.#goal = undefined;
    this.#opening = undefined;
    this.#following.value = true;
    this.#choose();
    this.#keep();
  }

  /** Brings a row to the upper edge. */
  scrollToRow(key: string): void {
    this.scrollTo({ key, within: -HEADROOM });
  }

  /** Brings a place to the upper edge. */
  scrollTo(mark: ScrollPosition): void {
    const index = this.#layout.indexOf(mark.key);
    if (index === undefined) return;
    this.#following.value = false;
    this.#place?.anchor.release();
    this.#goal = mark;
    this.#show(this.#layout.offset(index) + (mark.block === undefined ? mark.within : 0));
    this.#reach(mark);
    this.#followIfAllIsInSight();
  }

  /** Position of the reader; undefined if they are at the end and stay there. */
  get mark(): ScrollPosition | undefined {
    if (this.#place === undefined || this.#follows) return undefined;
    const key = this.#rows[this.#layout.indexAt(this.#top)]?.key;
    const row = key === undefined ? undefined : this.#elements.get(key);
    if (key === undefined || row === undefined) return undefined;
    const edge = this.#place.scroller.getBoundingClientRect().top;
    const blocks = blocksOf(row);
    const index = firstBelow(blocks, edge + 1);
    const block = blocks[index];
    const within = edge - (block ?? row).getBoundingClientRect().top;
    return block === undefined ? { key, within } : { key, block: index, within };
  }

  /** The row at the upper edge, or the one a jump led to. */
  get firstVisible(): number {
    return this.#layout.indexAt(this.#top + HEADROOM + TOUCHING);
  }

  /** Scroll position of the reader in the list. */
  get #top(): number {
    return this.#place === undefined ? 0 : this.#place.scroller.scrollTop - this.#place.start.offsetTop;
  }

  get #follows(): boolean {
    return this.#following.peek() && this.#opening === undefined;
  }

  /** If everything is visible, so is the end, unless the target is not on the page yet. */
  #followIfAllIsInSight(): void {
    const scroller = this.#place?.scroller;
    if (scroller === undefined || this.#goal !== undefined) return;
    if (scroller.scrollHeight <= scroller.clientHeight) this.#following.value = true;
  }

  #scrolled(): void {
    if (this.#isCut) {
      this.#keep();
    } else if (this.#place !== undefined && this.#layout.count > 0 && this.#hasMoved()) {
      const { scrollTop, scrollHeight, clientHeight } = this.#place.scroller;
      const left = scrollHeight - scrollTop - clientHeight;
      this.#following.value = left <= (scrollTop < this.#lastTop ? TOUCHING : NEAR_END);
      this.#goal = undefined;
      this.#hold();
    }
    this.#choose();
  }

  /** Whether the content has become shorter than the reader was down it, so that the browser scrolled. */
  get #isCut(): boolean {
    if (this.#place === undefined || this.#goal !== undefined) return false;
    const { scrollTop, scrollHeight, clientHeight } = this.#place.scroller;
    const end = scrollHeight - clientHeight;
    return this.#lastTop - end >= 1 && end - scrollTop < 1;
  }

  /** Whether the reader has scrolled since this view did. */
  #hasMoved(): boolean {
    return this.#place !== undefined && Math.abs(this.#place.scroller.scrollTop - this.#lastTop) >= 1;
  }

  /** Remembers what the reader looks at, as long as the page is as they see it. */
  #hold(): void {
    if (this.#place === undefined) return;
    this.#lastTop = this.#place.scroller.scrollTop;
    if (!this.#follows) this.#place.anchor.hold(this.#place.list);
  }

  #resized(entries: readonly ResizeObserverEntry[]): void {
    this.#elements.measure(entries);
    this.#followIfAllIsInSight();
    this.committed();
    // Behind this picture, and without asking for another one that may show nothing new.
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#choose();
    });
  }

  /** Keeps the reader where they are: at the end, or at what they look at. */
  #keep(): void {
    if (this.#place === undefined) return;
    const { scroller, anchor } = this.#place;
    // Whatever stands in an empty list is read from its beginning.
    if (this.#layout.count === 0) return;
    if (this.#follows) {
      const end = scroller.scrollHeight - scroller.clientHeight;
      if (end - scroller.scrollTop >= 1 && this.#isSelecting()) this.#stay();
      else if (end - scroller.scrollTop >= 1) scroller.scrollTop = end;
    } else if (this.#isCut) {
      anchor.follow(this.#lastTop);
      this.#following.value = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight <= TOUCHING;
    } else {
      anchor.follow(scroller.scrollTop);
    }
    this.#lastTop = scroller.scrollTop;
  }

  /** Words that the reader selects are not pulled away from under the mouse. */
  #stay(): void {
    this.#following.value = false;
    this.#hold();
  }

  #isSelecting(): boolean {
    const selection = document.getSelection();
    return selection?.isCollapsed === false && this.#indexOf(selection.anchorNode) !== undefined;
  }

  /**
   * A long text comes to the page bit by bit: as long as the block is not there, its row will do, and as long as
   * nothing below it is there, it cannot be brought to the upper edge.
   */
  #reach({ key, block, within }: ScrollPosition): void {
    const row = this.#elements.get(key);
    if (this.#place === undefined || row === undefined) return;
    const { scroller, anchor } = this.#place;
    const wanted = block === undefined ? row : blocksOf(row)[block];
    const element = wanted ?? row;
    const distance = element.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    const top = scroller.scrollTop + distance + (wanted === undefined ? 0 : within);
    scroller.scrollTop = top;
    this.#lastTop = scroller.scrollTop;
    if (wanted === undefined || (block !== undefined && top - scroller.scrollTop > TOUCHING)) return;
    this.#goal = undefined;
    anchor.holdElement(element);
    this.#choose();
  }

  /** Shows other rows if the reader has come near the edge of those that are on the page. */
  #choose(): void {
    if (this.#place === undefined) return;
    const top = this.#wantedTop(this.#top);
    const height = this.#place.scroller.clientHeight;
    const near = this.#layout.range(top - height / 2, top + height * 1.5);
    if (!covers(this.#range, near)) this.#show(top);
    if (this.#place.scroller.scrollTop < height * 1.5) this.nearTop();
  }

  #show(wanted: number): void {
    if (this.#place === undefined) return;
    const top = this.#wantedTop(wanted);
    const height = this.#place.scroller.clientHeight;
    const margin = Math.max(LEAST_MARGIN, height);
    const range = this.#withSelection(this.#layout.range(top - margin, top + height + margin));
    this.#range = range;
    this.#keepFocus(range);
    this.#shown.value = {
      rows: this.#rows.slice(range.first, range.end),
      before: this.#layout.offset(range.first),
      after: this.#layout.total - this.#layout.offset(range.end),
    };
  }

  #wantedTop(top: number): number {
    const height = this.#place?.scroller.clientHeight ?? 0;
    return this.#follows ? Math.max(0, this.#layout.total - height) : top;
  }

  #withSelection(range: RowRange): RowRange {
    const selection = document.getSelection();
    if (selection === null || selection.isCollapsed) return range;
    let { first, end } = range;
    for (const node of [selection.anchorNode, selection.focusNode]) {
      const index = this.#indexOf(node);
      if (index === undefined) continue;
      first = Math.min(first, index);
      end = Math.max(end, index + 1);
    }
    return end - first <= MOST_SELECTED ? { first, end } : range;
  }

  /** Moves the focus to the list when the focused row is no longer rendered. */
  #keepFocus(range: RowRange): void {
    const active = document.activeElement;
    const index = this.#indexOf(active);
    if (index !== undefined && (index < range.first || index >= range.end)) {
      this.focus();
    }
  }

  #indexOf(node: Node | null): number | undefined {
    return this.#elements.indexOf(node, this.#place?.list);
  }
}
