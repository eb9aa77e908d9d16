// Keeps what the reader looks at in place: the first visible row and the element at its upper edge. Positions are
// relative to the content, so scrolling does not change them.

interface Hold {
  readonly element: Element;
  position: number;
}

const DEEPEST = 12;
const FEW = 16;
/** A block of Markdown on the page. */
const BLOCK = ".prose-block";

export class ScrollAnchor {
  /** The innermost first. */
  #holds: Hold[] = [];

  constructor(readonly scroller: HTMLElement) {}

  /** Takes hold of the first of these rows that can be seen. */
  hold(rows: HTMLElement): void {
    const edge = this.scroller.getBoundingClientRect().top + 1;
    const path: Element[] = [];
    let parent: Element = rows;
    for (let depth = 0; depth < DEEPEST; depth += 1) {
      const next = parent.children[firstBelow(parent.children, edge)];
      if (next === undefined) break;
      path.unshift(next);
      if (next.getBoundingClientRect().top >= edge) break;
      parent = next;
    }
    this.#holds = path.map((element) => ({ element, position: this.#positionOf(element) }));
  }

  /** Takes hold of one element only. */
  holdElement(element: Element): void {
    this.#holds = [{ element, position: this.#positionOf(element) }];
  }

  /**
   * Finds the block of `before` that the reader looks at. The returned function takes hold of the same block
   * of `after`, counted from the end, once that is on the page; undefined if the reader is past all of it.
   */
  exchange(before: Element, after: Element): (() => void) | undefined {
    const edge = this.scroller.getBoundingClientRect().top + 1;
    const old = before.querySelectorAll(BLOCK);
    const index = firstBelow(old, edge);
    const held = old[index];
    if (held === undefined) return undefined;
    const place = this.#positionOf(held) - this.scroller.scrollTop;
    return () => {
      const fresh = after.querySelectorAll(BLOCK);
      const element = fresh[fresh.length - old.length + index];
      // Content that is shorter for a moment has made the browser scroll, so the place on the screen counts.
      if (element !== undefined) this.#holds = [{ element, position: place + this.scroller.scrollTop }];
    };
  }

  release(): void {
    this.#holds = [];
  }

  /**
   * Scrolls after what it holds from where the reader was, as far as the content reaches; what is left
   * is made up for the next time.
   */
  follow(from: number): void {
    const { scroller } = this;
    const hold = this.#holds.find(({ element }) => scroller.contains(element));
    if (hold === undefined) return;
    const wanted = from + this.#positionOf(hold.element) - hold.position;
    if (Math.abs(wanted - scroller.scrollTop) >= 0.5) scroller.scrollTop = wanted;
    const rest = wanted - scroller.scrollTop;
    for (const one of this.#holds) one.position = this.#positionOf(one.element) - rest;
  }

  #positionOf(element: Element): number {
    const { scroller } = this;
    return element.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop;
  }
}

/** The blocks of Markdown in a row, as far as they are on the page. */
export function blocksOf(row: Element): NodeListOf<Element> {
  return row.querySelectorAll(BLOCK);
}

/**
 * The first element that reaches below an edge. Many elements stand below each other, so it need
 * not look at all; of a few, some may float.
 */
export function firstBelow(elements: ArrayLike<Element>, edge: number): number {
  let low = 0;
  let high = elements.length;
  while (high - low > FEW) {
    const middle = (low + high) >> 1;
    if (bottomOf(elements[middle]) > edge) high = middle;
    else low = middle + 1;
  }
  while (low < high && bottomOf(elements[low]) <= edge) low += 1;
  return low;
}

function bottomOf(element: Element | undefined): number {
  return element?.getBoundingClientRect().bottom ?? 0;
}
