// Top-level code fences, read line by line, so that an open one is never parsed again.

import type { CodeBlock } from "./block";

export interface Fence {
  readonly indent: number;
  readonly marker: string;
  readonly length: number;
  readonly info: string;
}

const OPENING = /^( {0,3})(`{3,}|~{3,})(.*)$/;
const CLOSING = /^ {0,3}(`+|~+)[ \t]*$/;
const MAY_CLOSE = /^ {0,3}(?:`*|~*)[ \t]*$/;
// A longer line is code whatever it consists of, so that it need not be held back to find out.
const LONGEST_CLOSING_LINE = 4096;

/** The fence that a line without its line end opens, if it does. */
export function openedFence(line: string): Fence | undefined {
  const match = OPENING.exec(line);
  const [, indent = "", run = "", info = ""] = match ?? [];
  if (match === null || (run.startsWith("`") && info.includes("`"))) {
    return undefined;
  }
  return { indent: indent.length, marker: run.charAt(0), length: run.length, info };
}

/** Reads what stands behind an opening fence, up to its closing one. */
export class FencedCode {
  readonly #fence: Fence;
  readonly #pieces: string[] = [];
  #insideLine = false;
  #closed = false;
  #tail = "";

  constructor(fence: Fence) {
    this.#fence = fence;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Takes the lines that have ended and returns the rest: a line to come, or what follows the block. */
  take(text: string): string {
    let from = 0;
    for (;;) {
      const end = text.indexOf("\n", from);
      if (end < 0) {
        return this.#keep(text, from);
      }
      if (!this.#insideLine && this.#closes(text.slice(from, end))) {
        this.#push(text.slice(0, from));
        this.#closed = true;
        return text.slice(end + 1);
      }
      if (this.#insideLine) {
        this.#pieces.push(text.slice(0, end + 1));
        this.#insideLine = false;
        text = text.slice(end + 1);
        from = 0;
      } else {
        from = end + 1;
      }
    }
  }

  /** The block as it looks with this unended line behind it. */
  block(rest: string, ended: boolean): CodeBlock {
    const closedByRest = ended && !this.#insideLine && this.#closes(rest);
    const held = !ended && !this.#insideLine && MAY_CLOSE.test(rest);
    this.#tail = closedByRest || held || this.#closed ? "" : this.#withoutIndent(rest);
    return {
      type: "code",
      info: this.#fence.info,
      pieces: this.#pieces,
      tail: this.#tail,
      closed: this.#closed || closedByRest,
    };
  }

  /** A line that has grown very long is given away before it ends. */
  #keep(text: string, from: number): string {
    const rest = text.slice(from);
    this.#push(text.slice(0, from));
    if (rest.length <= LONGEST_CLOSING_LINE) {
      return rest;
    }
    this.#pieces.push(this.#withoutIndent(rest));
    this.#insideLine = true;
    return "";
  }

  #push(lines: string): void {
    if (lines !== "") {
      const indented = this.#fence.indent > 0;
      this.#pieces.push(indented ? lines.replace(/^.*\n/gm, (line) => this.#withoutIndent(line)) : lines);
    }
  }

  #closes(line: string): boolean {
    const run = line.length > LONGEST_CLOSING_LINE ? undefined : CLOSING.exec(line)?.[1];
    return run !== undefined && run.startsWith(this.#fence.marker) && run.length >= this.#fence.length;
  }

  #withoutIndent(line: string): string {
    return this.#insideLine ? line : withoutIndent(line, this.#fence.indent);
  }
}

/** Takes the fence's own indentation from a line of its content; a tab counts up to the next fourth column. */
function withoutIndent(line: string, indent: number): string {
  let column = 0;
  let taken = 0;
  while (column < indent && (line[taken] === " " || line[taken] === "\t")) {
    column += line[taken] === "\t" ? 4 - (column % 4) : 1;
    taken += 1;
  }
  return " ".repeat(Math.max(0, column - indent)) + line.slice(taken);
}
