// A block of code with its language and buttons to copy and wrap. Long code is shown in part.

import { countLines, iconButton, showAllButton, showAllLabel } from "./code-buttons";
import { CodePainter } from "./code-painter";
import { whenIdle } from "./idle-queue";

/** Longer code shows its beginning, until the reader asks for all of it. */
const MANY_LINES = 400;
const MANY_CHARACTERS = 65_536;
/** So little more is not worth a button. */
const FEW_LINES = 40;
const EXPAND_BY = 8_192;
const LONGEST_NAME = 32;

const frames = new WeakMap<Node, CodeFrame>();

export class CodeFrame {
  readonly element = document.createElement("div");
  readonly #language: string;
  readonly #preformatted = document.createElement("pre");
  readonly #painter: CodePainter;
  readonly #pieces: string[] = [];
  /** Code that is not shown yet, in order. */
  readonly #hidden: string[] = [];
  #looked = 0;
  #lines = 0;
  #characters = 0;
  #tail = "";
  #closed = false;
  #expanded = false;
  #showAll: HTMLButtonElement | undefined;

  constructor(language: string) {
    this.#language = language;
    const code = document.createElement("code");
    this.#preformatted.tabIndex = 0;
    this.#preformatted.append(code);
    this.#painter = new CodePainter(code, language.toLowerCase());
    this.element.className = "code-frame";
    this.element.append(this.#header(), this.#preformatted);
    frames.set(this.element, this);
  }

  /** The frame that stands on the page as this node, if it is one. */
  static of(node: Node): CodeFrame | undefined {
    return frames.get(node);
  }

  /** Shows code that only grows; pieces that were shown are not looked at again. */
  show(pieces: readonly string[], tail: string, closed: boolean): void {
    const fresh = pieces.slice(this.#looked);
    this.#looked = pieces.length;
    this.#grow(fresh.join(""), tail, closed);
  }

  /** Shows code that is known as a whole, or refuses because it is not what this frame began with. */
  showText(language: string, text: string, closed: boolean): boolean {
    const known = this.#pieces.join("");
    const ended = text.slice(0, text.lastIndexOf("\n") + 1);
    const unchanged = this.#closed && text === known + this.#tail;
    if (language !== this.#language || !ended.startsWith(known) || (this.#closed && !unchanged)) {
      return false;
    }
    this.#grow(ended.slice(known.length), text.slice(ended.length), closed);
    return true;
  }

  #grow(lines: string, tail: string, closed: boolean): void {
    if (this.#closed) {
      return;
    }
    const shown = this.#expanded ? lines : this.#fitting(lines);
    if (lines !== "") {
      this.#pieces.push(lines);
      this.#lines += countLines(lines);
      this.#characters += lines.length;
    }
    if (shown.length < lines.length) {
      this.#hidden.push(lines.slice(shown.length));
    }
    this.#tail = tail;
    this.#closed = closed;
    this.#paint(shown);
    this.#offerRest();
  }

  #paint(lines: string): void {
    const rest = this.#hidden.length > 0;
    this.#painter.add(lines, rest ? "" : this.#tail);
    if (this.#closed || (rest && !this.#expanded)) {
      this.#painter.finish();
    }
  }

  /** The part of new lines that may be shown while the frame is not expanded. */
  #fitting(lines: string): string {
    if (this.#hidden.length > 0) {
      return "";
    }
    let end = -1;
    for (let room = MANY_LINES - this.#lines; room > 0; room -= 1) {
      const next = lines.indexOf("\n", end + 1);
      if (next < 0) {
        end = lines.length - 1;
        break;
      }
      end = next;
    }
    return lines.slice(0, Math.min(end + 1, MANY_CHARACTERS - this.#characters));
  }

  #offerRest(): void {
    if (this.#hidden.length === 0 || this.#expanded) {
      return;
    }
    if (this.#closed && this.#lines <= MANY_LINES + FEW_LINES && this.#characters <= MANY_CHARACTERS) {
      this.#expand();
      return;
    }
    if (this.#showAll === undefined) {
      this.#showAll = showAllButton(() => {
        this.#preformatted.focus({ preventScroll: true });
        this.#expand();
      });
      this.element.append(this.#showAll);
    }
    this.#showAll.textContent = showAllLabel(this.#lines, this.#characters, MANY_LINES);
  }

  #expand(): void {
    this.#expanded = true;
    this.#showAll?.remove();
    this.#showAll = undefined;
    whenIdle(() => {
      const piece = this.#hidden.shift() ?? "";
      if (piece.length > EXPAND_BY) {
        this.#hidden.unshift(piece.slice(EXPAND_BY));
      }
      this.#paint(piece.slice(0, EXPAND_BY));
      return this.#hidden.length > 0;
    });
  }

  #header(): HTMLElement {
    const header = document.createElement("div");
    header.className = "code-header";
    const name = document.createElement("span");
    name.className = "code-language";
    name.textContent = this.#language === "" ? "text" : this.#language.slice(0, LONGEST_NAME);
    const wrap = iconButton("word-wrap", "Wrap lines", () => {
      const wrapped = this.element.classList.toggle("wrapped");
      wrap.setAttribute("aria-pressed", String(wrapped));
    });
    wrap.setAttribute("aria-pressed", "false");
    const copy = iconButton("copy", "Copy code", () => {
      void copyText(this.#pieces.join("") + this.#tail, copy, feedback);
    });
    const feedback = document.createElement("span");
    feedback.className = "code-feedback";
    feedback.setAttribute("role", "status");
    header.append(name, feedback, wrap, copy);
    return header;
  }
}

const FEEDBACK_MS = 1_500;
const running = new WeakMap<HTMLElement, number>();

export async function copyText(text: string, button: HTMLElement, feedback: HTMLElement): Promise<void> {
  let said: string;
  try {
    await navigator.clipboard.writeText(text);
    said = "Copied";
  } catch {
    said = "Could not copy";
  }
  feedback.textContent = said;
  button.classList.toggle("copied", said === "Copied");
  clearTimeout(running.get(button));
  const timer = setTimeout(() => {
    feedback.textContent = "";
    button.classList.remove("copied");
  }, FEEDBACK_MS);
  running.set(button, timer as unknown as number);
}
