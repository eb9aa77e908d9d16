// Holds on to what the reader looks at: the first visible row and, inside it, whatever stands at the upper edge.
// Positions are counted from the top of the content, so that scrolling does not change them.

interface Hold {
  readonly element: Element;
  readonly edge: "top" | "bottom";
  position: number;
}

const DEEPEST = 12;

export class Anchor {
  /** The innermost first. */
  #holds: Hold[] = [];

  constructor(readonly scroller: HTMLElement) {}

  /** Takes hold of the first of these rows that can be seen. */
  hold(rows: HTMLElement): void {
    const edge = this.scroller.getBoundingClientRect().top + 1;
    const path: Element[] = [];
    let parent: Element = rows;
    for (let depth = 0; depth < DEEPEST; depth += 1) {
      const next = firstBelow(parent, edge);
      if (next === undefined) break;
      path.unshift(next);
      if (next.getBoundingClientRect().top >= edge) break;
      parent = next;
    }
    this.#holds = path.map((element) => ({ element, edge: "top", position: this.#positionOf(element, "top") }));
  }

  /** Takes hold of one element only, by its upper or lower edge. */
  holdElement(element: Element, edge: Hold["edge"]): void {
    this.#holds = [{ element, edge, position: this.#positionOf(element, edge) }];
  }

  release(): void {
    this.#holds = [];
  }

  /** How far what it holds has moved in the content since; zero if nothing is left of it. */
  drift(): number {
    const hold = this.#holds.find(({ element }) => this.scroller.contains(element));
    if (hold === undefined) return 0;
    const drift = this.#positionOf(hold.element, hold.edge) - hold.position;
    for (const one of this.#holds) one.position = this.#positionOf(one.element, one.edge);
    return drift;
  }

  #positionOf(element: Element, edge: Hold["edge"]): number {
    const { top, bottom } = element.getBoundingClientRect();
    return (edge === "top" ? top : bottom) - this.scroller.getBoundingClientRect().top + this.scroller.scrollTop;
  }
}

/** The first child that reaches below an edge. Children stand below each other, so it need not look at all. */
function firstBelow(parent: Element, edge: number): Element | undefined {
  const { children } = parent;
  let low = 0;
  let high = children.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((children[middle]?.getBoundingClientRect().bottom ?? 0) > edge) high = middle;
    else low = middle + 1;
  }
  return children[low];
}
