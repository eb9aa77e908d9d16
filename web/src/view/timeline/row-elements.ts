// Elements of the rows that are on the page, observed and measured into a layout.

import type { RowLayout } from "./row-layout";

export class RowElements {
  readonly #layout: RowLayout;
  readonly #elements = new Map<string, HTMLElement>();
  readonly #keys = new WeakMap<Element, string>();
  #observer: ResizeObserver | undefined;

  constructor(layout: RowLayout) {
    this.#layout = layout;
  }

  /** Observes all rows, also those that are set later. Undefined stops it. */
  observe(observer: ResizeObserver | undefined): void {
    this.#observer = observer;
    for (const element of this.#elements.values()) observer?.observe(element);
  }

  get(key: string): HTMLElement | undefined {
    return this.#elements.get(key);
  }

  /** Sets the element of a row; null when the row left the page. */
  set(key: string, element: HTMLElement | null): void {
    const before = this.#elements.get(key);
    if (before !== undefined && before !== element) this.#observer?.unobserve(before);
    if (element === null) {
      this.#elements.delete(key);
    } else if (before !== element) {
      this.#elements.set(key, element);
      this.#keys.set(element, key);
      this.#observer?.observe(element);
    }
  }

  /** Takes over the measured heights. */
  measure(entries: readonly ResizeObserverEntry[]): void {
    for (const { target, borderBoxSize } of entries) {
      const key = this.#keys.get(target);
      const height = borderBoxSize[0]?.blockSize;
      if (key !== undefined && height !== undefined && target.isConnected)
        this.#layout.setHeight(key, height);
    }
  }

  /** The index of the row that contains a node of the list; undefined outside of rows. */
  indexOf(node: Node | null, list: HTMLElement | undefined): number | undefined {
    if (list === undefined || node === null || !list.contains(node)) return undefined;
    for (let at: Node | null = node; at !== null && at !== list; at = at.parentNode) {
      const key = at instanceof Element ? this.#keys.get(at) : undefined;
      if (key !== undefined) return this.#layout.indexOf(key);
    }
    return undefined;
  }
}
