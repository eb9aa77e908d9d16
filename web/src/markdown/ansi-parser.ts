// Parses terminal output into styled lines: colours, carriage returns and erased lines count, other control sequences
// are dropped.

import { PLAIN_STYLE, applySgr, type TerminalStyle } from "./ansi-style";

export interface TerminalSpan {
  readonly text: string;
  readonly style: TerminalStyle;
}

export type TerminalLine = readonly TerminalSpan[];

/** Longer lines go on below, as they do in a terminal. */
const MOST_COLUMNS = 4_096;
const LONGEST_ESCAPE = 64;
/** A title or link that is still open after this was never meant to be one. */
const LONGEST_STRING = 4_096;

const SPECIAL = /[\x00-\x1f\x7f-\x9f]/g;
const ESCAPE = /(?:\x1b\[|\x9b)([0-?]*)[ -/]*([@-~])|\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ\\`-~]/y;
const UNFINISHED_ESCAPE = /(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|\x1b[ -/]*)$/y;
const STRING_START = /\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]/y;
const STRING_END = /\x07|\x1b\\|\x9c|(?=\n)/g;

export class AnsiParser {
  readonly #lines: TerminalLine[] = [[]];
  #current: TerminalSpan[] = [];
  #length = 0;
  #column = 0;
  #style = PLAIN_STYLE;
  #unread = "";

  /** All lines so far; the last one is still being written. */
  get lines(): readonly TerminalLine[] {
    return this.#lines;
  }

  /** Reads more output and returns the index of the first line that is not what it was. */
  append(output: string): number {
    const first = this.#lines.length - 1;
    const text = this.#unread + output;
    this.#unread = "";
    let at = 0;
    while (at < text.length) {
      SPECIAL.lastIndex = at;
      const special = SPECIAL.exec(text)?.index ?? text.length;
      this.#write(text.slice(at, special));
      at = special < text.length ? this.#control(text, special) : special;
    }
    this.#lines[this.#lines.length - 1] = [...this.#current];
    return first;
  }

  /** Obeys the control character at this place, and returns the place behind it. */
  #control(text: string, at: number): number {
    switch (text.charCodeAt(at)) {
      case 0x08:
        this.#column = Math.max(0, this.#column - 1);
        return at + 1;
      case 0x09:
        this.#write("\t");
        return at + 1;
      case 0x0a:
        this.#newLine();
        return at + 1;
      case 0x0d:
        this.#column = 0;
        return at + 1;
      default:
        return this.#escape(text, at);
    }
  }

  #escape(text: string, at: number): number {
    STRING_START.lastIndex = at;
    if (STRING_START.test(text)) {
      return this.#skipString(text, at, STRING_START.lastIndex);
    }
    ESCAPE.lastIndex = at;
    const [sequence, parameters, final] = ESCAPE.exec(text) ?? [];
    if (sequence !== undefined) {
      this.#obey(parameters ?? "", final ?? "");
      return at + sequence.length;
    }
    UNFINISHED_ESCAPE.lastIndex = at;
    if (text.length - at <= LONGEST_ESCAPE && UNFINISHED_ESCAPE.test(text)) {
      this.#unread = text.slice(at);
      return text.length;
    }
    return at + 1;
  }

  /** Passes over a title, a link target or the like. */
  #skipString(text: string, at: number, from: number): number {
    STRING_END.lastIndex = from;
    const end = STRING_END.exec(text);
    if (end !== null) {
      return end.index + end[0].length;
    }
    if (text.length - at <= LONGEST_STRING) {
      this.#unread = text.slice(at);
      return text.length;
    }
    return from;
  }

  #obey(parameters: string, final: string): void {
    const count = Math.min(MOST_COLUMNS, Number.parseInt(parameters, 10) || 0);
    switch (final) {
      case "m":
        this.#style = /^[\d;:]*$/.test(parameters) ? applySgr(this.#style, parameters) : this.#style;
        break;
      case "K":
        this.#eraseLine(count);
        break;
      case "C":
        this.#column = Math.min(MOST_COLUMNS - 1, this.#column + Math.max(1, count));
        break;
      case "D":
        this.#column = Math.max(0, this.#column - Math.max(1, count));
        break;
      case "G":
        this.#column = Math.max(0, count - 1);
        break;
    }
  }

  #eraseLine(extent: number): void {
    if (extent === 0) {
      this.#current = cut(this.#current, 0, this.#column);
    } else if (extent === 1) {
      const rest = cut(this.#current, this.#column, this.#length);
      this.#current =
        rest.length === 0 ? [] : [{ text: " ".repeat(this.#column), style: PLAIN_STYLE }, ...rest];
    } else {
      this.#current = [];
    }
    this.#length = this.#current.reduce((length, span) => length + span.text.length, 0);
  }

  #write(text: string): void {
    for (let at = 0; at < text.length;) {
      if (this.#column >= MOST_COLUMNS) {
        this.#newLine();
      }
      const fitting = text.slice(at, at + MOST_COLUMNS - this.#column);
      this.#put(fitting);
      at += fitting.length;
    }
  }

  /** Puts text that fits into the line at the cursor, over what may stand there. */
  #put(text: string): void {
    if (this.#column > this.#length) {
      this.#add(" ".repeat(this.#column - this.#length), PLAIN_STYLE);
    }
    const end = this.#column + text.length;
    if (this.#column === this.#length) {
      this.#add(text, this.#style);
    } else {
      const before = cut(this.#current, 0, this.#column);
      const after = cut(this.#current, end, this.#length);
      this.#current = before;
      this.#length = this.#column;
      this.#add(text, this.#style);
      this.#current.push(...after);
      this.#length += after.reduce((length, span) => length + span.text.length, 0);
    }
    this.#column = end;
  }

  #add(text: string, style: TerminalStyle): void {
    const last = this.#current.at(-1);
    if (last?.style === style) {
      this.#current[this.#current.length - 1] = { text: last.text + text, style };
    } else {
      this.#current.push({ text, style });
    }
    this.#length += text.length;
  }

  #newLine(): void {
    this.#lines[this.#lines.length - 1] = this.#current;
    this.#lines.push([]);
    this.#current = [];
    this.#length = 0;
    this.#column = 0;
  }
}

/** The spans between two columns. */
function cut(spans: readonly TerminalSpan[], from: number, to: number): TerminalSpan[] {
  const kept: TerminalSpan[] = [];
  let at = 0;
  for (const { text, style } of spans) {
    const piece = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (piece !== "") {
      kept.push({ text: piece, style });
    }
    at += text.length;
  }
  return kept;
}
