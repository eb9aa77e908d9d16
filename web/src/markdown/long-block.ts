// A block that came in several parts: shows the first ones, and the rest on request.

import { countLines, showAllButton, showAllLabel } from "./code-buttons";
import { whenIdle } from "./idle-queue";

const MANY_LINES = 400;
const MANY_CHARACTERS = 65_536;

const hiddenHolders = new WeakSet<HTMLElement>();

/** Whether what belongs into a holder waits for the reader to ask for it. */
export function isHidden(holder: HTMLElement): boolean {
  return hiddenHolders.has(holder);
}

export class LongBlock {
  readonly #hidden = new Map<HTMLElement, () => void>();
  #lines = 0;
  #characters = 0;
  /** The piece that was measured last may have grown since. */
  #lastIndex = -1;
  #lastLines = 0;
  #lastCharacters = 0;
  #expanded = false;
  #showAll: HTMLButtonElement | undefined;

  /** Shows a piece by the given action, or hides it behind the button. */
  show(index: number, source: string, holder: HTMLElement, action: () => void): void {
    this.#measure(index, source);
    // The text before it decides, so that nothing vanishes that has been shown.
    const long =
      this.#lines - this.#lastLines > MANY_LINES || this.#characters - this.#lastCharacters > MANY_CHARACTERS;
    if (!long || (this.#expanded && !this.#hidden.has(holder))) {
      action();
      return;
    }
    this.#hidden.set(holder, action);
    hiddenHolders.add(holder);
    if (this.#expanded) {
      return;
    }
    if (this.#showAll === undefined) {
      this.#showAll = showAllButton(() => this.#expand());
      holder.replaceChildren(this.#showAll);
    }
    this.#showAll.textContent = showAllLabel(this.#lines, this.#characters, MANY_LINES);
  }

  #measure(index: number, source: string): void {
    const lines = countLines(source);
    this.#lines += lines - (index === this.#lastIndex ? this.#lastLines : 0);
    this.#characters += source.length - (index === this.#lastIndex ? this.#lastCharacters : 0);
    this.#lastIndex = index;
    this.#lastLines = lines;
    this.#lastCharacters = source.length;
  }

  #expand(): void {
    this.#expanded = true;
    const holder = this.#showAll?.parentElement;
    holder?.setAttribute("tabindex", "-1");
    holder?.focus({ preventScroll: true });
    this.#showAll?.remove();
    whenIdle(() => {
      for (const [holder, show] of this.#hidden) {
        this.#hidden.delete(holder);
        hiddenHolders.delete(holder);
        show();
        break;
      }
      return this.#hidden.size > 0;
    });
  }
}
