// Terminal output on the page: lines in parts, of which old ones are left alone, in a box that follows its end. The
// beginning of long output is hidden.

import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { AnsiParser, type TerminalLine, type TerminalSpan } from "./ansi-parser";
import { colorsOf, PLAIN_STYLE, type TerminalColor } from "./ansi-style";
import { showAllButton } from "./code-buttons";
import { growsFrom } from "./text-growth";
import { visibleNodes } from "./visible-text";

const AT_ONCE_MS = 8;
const FEED = 32_768;
const LINES_IN_PART = 25;
/** Of longer output the end is shown, until the reader asks for all of it. */
const MANY_LINES = 2_000;
/** Largest distance from the end, in pixels, at which the view follows it. */
const NEAR = 8;

export class TerminalView {
  readonly #scroller: HTMLElement;
  readonly #parts = new Map<number, HTMLElement>();
  #ansi = new AnsiParser();
  #text = "";
  #fed = 0;
  #stale = 0;
  #following = true;
  #top = 0;
  #expanded = false;
  #showAll: HTMLButtonElement | undefined;
  #frame: number | undefined;

  constructor(scroller: HTMLElement) {
    this.#scroller = scroller;
    scroller.addEventListener("scroll", this.#onScroll, { passive: true });
  }

  update(text: string): void {
    if (!growsFrom(this.#text, text, true)) {
      this.#beginAgain();
    }
    this.#text = text;
    if (this.#frame === undefined) {
      this.#work();
    }
  }

  dispose(): void {
    this.#scroller.removeEventListener("scroll", this.#onScroll);
    if (this.#frame !== undefined) {
      cancelAnimationFrame(this.#frame);
    }
  }

  /** Only the reader scrolls back; the box itself may grow before it follows. */
  readonly #onScroll = (): void => {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    const atEnd = scrollHeight - scrollTop - clientHeight <= NEAR;
    this.#following = atEnd || (this.#following && scrollTop >= this.#top);
    this.#top = scrollTop;
  };

  #beginAgain(): void {
    this.#ansi = new AnsiParser();
    this.#fed = 0;
    this.#stale = 0;
    this.#parts.clear();
    this.#showAll = undefined;
    this.#scroller.replaceChildren();
  }

  #work(): void {
    this.#frame = undefined;
    const deadline = performance.now() + AT_ONCE_MS;
    const done = this.#read(deadline) && this.#draw(deadline);
    if (this.#following) {
      this.#scroller.scrollTop = this.#scroller.scrollHeight;
      this.#top = this.#scroller.scrollTop;
    }
    if (!done) {
      this.#frame = requestAnimationFrame(() => this.#work());
    }
  }

  #read(deadline: number): boolean {
    while (this.#fed < this.#text.length) {
      const first = this.#ansi.append(this.#text.slice(this.#fed, this.#fed + FEED));
      this.#stale = Math.min(this.#stale, Math.floor(first / LINES_IN_PART));
      this.#fed += FEED;
      if (performance.now() > deadline) {
        break;
      }
    }
    this.#fed = Math.min(this.#fed, this.#text.length);
    return this.#fed === this.#text.length;
  }

  /** Draws the parts that have changed, and says whether it came to the end. */
  #draw(deadline: number): boolean {
    const { lines } = this.#ansi;
    const count = Math.ceil(lines.length / LINES_IN_PART);
    const first = this.#expanded ? 0 : Math.max(0, count - MANY_LINES / LINES_IN_PART - 1);
    this.#putAway(first, lines.length);
    this.#stale = Math.max(this.#stale, first);
    for (; this.#stale < count; this.#stale += 1) {
      const begin = this.#stale * LINES_IN_PART;
      const nodes = partNodes(
        lines.slice(begin, begin + LINES_IN_PART),
        begin + LINES_IN_PART >= lines.length,
      );
      this.#part(this.#stale).replaceChildren(...nodes);
      if (performance.now() > deadline) {
        this.#stale += 1;
        return this.#stale >= count;
      }
    }
    return true;
  }

  #putAway(first: number, lines: number): void {
    for (const [index, part] of this.#parts) {
      if (index >= first) {
        break;
      }
      part.remove();
      this.#parts.delete(index);
    }
    if (first > 0 && this.#showAll === undefined) {
      this.#showAll = showAllButton(() => this.#expand());
      this.#scroller.prepend(this.#showAll);
    }
    if (this.#showAll !== undefined) {
      this.#showAll.textContent = `Show all ${lines.toLocaleString("en")} lines`;
    }
  }

  #expand(): void {
    this.#expanded = true;
    this.#following = false;
    this.#parts.clear();
    this.#showAll = undefined;
    this.#scroller.replaceChildren();
    this.#scroller.focus();
    this.#stale = 0;
    this.#work();
  }

  #part(index: number): HTMLElement {
    let part = this.#parts.get(index);
    if (part === undefined) {
      part = document.createElement("div");
      part.className = "terminal-part";
      this.#parts.set(index, part);
      this.#scroller.append(part);
    }
    return part;
  }
}

function partNodes(lines: readonly TerminalLine[], isLast: boolean): Node[] {
  const nodes: Node[] = [];
  let plain = "";
  const flush = (): void => {
    if (plain !== "") {
      nodes.push(...visibleNodes(plain));
      plain = "";
    }
  };
  for (const [index, line] of lines.entries()) {
    for (const span of line) {
      if (span.style === PLAIN_STYLE) {
        plain += span.text;
      } else {
        flush();
        nodes.push(spanElement(span));
      }
    }
    if (!isLast || index < lines.length - 1) {
      plain += "\n";
    }
  }
  flush();
  return nodes;
}

function spanElement({ text, style }: TerminalSpan): HTMLElement {
  const span = document.createElement("span");
  span.append(...visibleNodes(text));
  for (const name of ["bold", "dim", "italic", "underline", "strike"] as const) {
    if (style[name]) {
      span.classList.add(`ansi-${name}`);
    }
  }
  const { foreground, background } = colorsOf(style);
  paint(span, "color", foreground);
  paint(span, "background-color", background);
  return span;
}

/** Colours of the theme are classes, so that they follow it; others are properties, which need no style attribute. */
function paint(
  span: HTMLElement,
  property: "color" | "background-color",
  color: TerminalColor | undefined,
): void {
  if (typeof color === "string" && color.startsWith("rgb")) {
    span.style.setProperty(property, color);
  } else if (color !== undefined) {
    span.classList.add(`ansi-${property === "color" ? "fg" : "bg"}-${color}`);
  }
}

export interface TerminalBoxProps {
  /** Everything that the program has written so far. */
  readonly text: string;
  readonly label?: string;
}

export function TerminalBox({ text, label = "Terminal output" }: TerminalBoxProps): VNode {
  const scroller = useRef<HTMLDivElement>(null);
  const view = useRef<TerminalView>(null);

  useLayoutEffect(() => {
    if (scroller.current === null) {
      return undefined;
    }
    const created = new TerminalView(scroller.current);
    view.current = created;
    return () => created.dispose();
  }, []);
  useLayoutEffect(() => view.current?.update(text), [text]);

  return <div ref={scroller} class="terminal" role="group" aria-label={label} tabIndex={0} />;
}
