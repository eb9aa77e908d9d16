// Splits Markdown that is still being written into top-level blocks. Only the last block may change as
// text arrives; the rest is final, so it is parsed once. The result does not depend on how the text was cut.

import { LinkDefinitions } from "./link-definitions";
import type { MarkdownBlock } from "./block";
import { FencedCode, openedFence } from "./code-fence";
import { withoutUndecidedEnd } from "./undecided-end";
import { blockTokens, noReferences, type References } from "./parser";
import { findSplitPoint, forcedCut, type SplitLimits, type SplitPoint } from "./split-points";
import { type ParsedLines, parseLines, type BlockUnit } from "./block-units";

/** Blocks to render again at the end of a text, and the definitions they need. */
export interface LateReferences {
  readonly blocks: readonly number[];
  readonly references: References;
}

const LIMITS: SplitLimits = { soft: 8_192, hard: 32_768, line: 8_192 };
const SLICE = 8_192;
/** A shorter region is parsed again after each blank line. */
const OFTEN_PARSED = 2_048;
const FENCE_LINE = /\n {0,3}(?:```|~~~)/;
const BLANK_LINE = /\n[ \t]*\n/;
const BLANK_LINES = /^(?:[ \t]*\n)+/;

export class BlockSplitter {
  readonly #limits: SplitLimits;
  readonly #definitions = new LinkDefinitions();
  readonly #blocks: MarkdownBlock[] = [];
  #settled = 0;
  /** The text behind the settled blocks, or behind the opening fence of the code that is open. */
  #region = "";
  /** Length of the region that was parsed without finding anything to settle. */
  #parsed = 0;
  #code: FencedCode | undefined;
  #continued = false;
  #start: number | undefined;
  #endsWithReturn = false;
  #ended = false;

  constructor(limits: SplitLimits = LIMITS) {
    this.#limits = limits;
  }

  get blocks(): readonly MarkdownBlock[] {
    return this.#blocks;
  }

  /** Number of blocks, from the first, that will not change any more. */
  get settled(): number {
    return this.#settled;
  }

  /** Link definitions of the settled blocks. */
  get references(): References {
    return this.#definitions.references;
  }

  /** Takes more text and returns the index of the first block that is not what it was. */
  append(text: string): number {
    const first = this.#settled;
    this.#ended = false;
    const lines = this.#withPlainLineEnds(text);
    for (let from = 0; from < lines.length; from += SLICE) {
      this.#region += lines.slice(from, from + SLICE);
      while (this.#step());
    }
    this.#showOpen();
    return first;
  }

  /** Flushes everything that was held back. More text may still follow. */
  end(): number {
    const first = this.#settled;
    this.#ended = true;
    while (this.#step());
    this.#showOpen();
    return first;
  }

  /** Blocks that use a link which was defined behind them; to be asked for at the end, as it looks at all. */
  lateReferences(): LateReferences {
    const all = this.#definitions.copy();
    if (this.#code === undefined) {
      all.learn(this.#region, this.#settled);
    }
    return { blocks: all.usedTooEarly(this.#blocks.slice(0, this.#settled)), references: all.references };
  }

  /** The same line ends and replaced NUL as in the parser, also where a line end was cut in two. */
  #withPlainLineEnds(text: string): string {
    const whole = this.#endsWithReturn && text.startsWith("\n") ? text.slice(1) : text;
    this.#endsWithReturn = text === "" ? this.#endsWithReturn : text.endsWith("\r");
    return whole.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd");
  }

  /** Settles what can be settled next, and says whether there may be more. */
  #step(): boolean {
    if (this.#code !== undefined) {
      return this.#readCode(this.#code);
    }
    this.#region = this.#region.replace(BLANK_LINES, "");
    const firstEnd = this.#region.indexOf("\n");
    const fence = firstEnd < 0 ? undefined : openedFence(this.#region.slice(0, firstEnd));
    if (fence !== undefined && firstEnd <= this.#limits.line) {
      const headOfTable = fence.info.includes("|") ? this.#beginsTable(firstEnd) : false;
      if (headOfTable === undefined) {
        return false;
      }
      if (!headOfTable) {
        this.#code = new FencedCode(fence);
        this.#goOnAfresh();
        this.#advance(firstEnd + 1);
        return true;
      }
    }
    return this.#readText();
  }

  #readText(): boolean {
    const cut = forcedCut(this.#region, this.#limits);
    const lastEnd = this.#region.lastIndexOf("\n", cut === undefined ? undefined : cut - 1);
    const window = this.#region.slice(0, lastEnd + 1);
    if (cut === undefined && !this.#isWorthParsing(window)) {
      return false;
    }
    this.#parsed = window.length;
    const parsed = parseLines(window, Object.create(this.references) as References);
    return this.#settleUnits(window, parsed, cut);
  }

  /** Whether what came since the region was last parsed may begin a new block, or is simply much. */
  #isWorthParsing(window: string): boolean {
    const grown = window.length - this.#parsed;
    if (grown <= 0 || this.#ended || 8 * grown >= this.#parsed) {
      return grown > 0;
    }
    const added = window.slice(this.#parsed - 1);
    return FENCE_LINE.test(added) || (this.#parsed < OFTEN_PARSED && BLANK_LINE.test(added));
  }

  /** Whether a line that could open a fence is the head of a table instead; undefined while that is unknown. */
  #beginsTable(firstEnd: number): boolean | undefined {
    const secondEnd = this.#region.indexOf("\n", firstEnd + 1);
    if (secondEnd >= this.#limits.hard || (secondEnd < 0 && this.#region.length > this.#limits.hard)) {
      return false;
    }
    const lines = this.#region.slice(0, secondEnd + 1);
    return secondEnd < 0 ? undefined : blockTokens(lines, noReferences())[0]?.type === "table_open";
  }

  #readCode(code: FencedCode): boolean {
    this.#region = code.take(this.#region);
    this.#parsed = 0;
    if (code.closed) {
      this.#settle(code.block("", false));
      this.#code = undefined;
    }
    return code.closed;
  }

  #settleUnits(window: string, parsed: ParsedLines, cut: number | undefined): boolean {
    for (const [index, unit] of parsed.units.entries()) {
      const begin = parsed.offsets[unit.firstLine] ?? 0;
      const seam = findSplitPoint(unit, window, parsed, begin + this.#limits.soft);
      if (seam !== undefined) {
        this.#cutAtPoint(unit, window, parsed, seam);
        return true;
      }
      const next = parsed.units[index + 1];
      if (next === undefined || unit.tokens[0]?.type === "fence") {
        this.#advance(begin);
        return begin > 0 || this.#cutAt(cut);
      }
      this.#settleText(window.slice(begin, parsed.offsets[next.firstLine]));
      this.#goOnAfresh();
    }
    return this.#cutAt(cut);
  }

  #cutAtPoint(unit: BlockUnit, window: string, { offsets }: ParsedLines, seam: SplitPoint): void {
    const begin = offsets[unit.firstLine] ?? 0;
    const at = offsets[seam.line] ?? 0;
    this.#settleText(window.slice(begin, at));
    const first = this.#start ?? Number(unit.tokens[1]?.info ?? 1);
    this.#start = seam.items === undefined ? undefined : first + seam.items;
    this.#continued = true;
    this.#advance(at);
    this.#region = window.slice(begin, offsets[unit.firstLine + seam.headLines]) + this.#region;
  }

  #cutAt(at: number | undefined): boolean {
    if (at === undefined) {
      return false;
    }
    this.#settleText(this.#region.slice(0, at));
    this.#start = undefined;
    this.#continued = true;
    this.#advance(at);
    return true;
  }

  #goOnAfresh(): void {
    this.#continued = false;
    this.#start = undefined;
  }

  #advance(count: number): void {
    if (count > 0) {
      this.#region = this.#region.slice(count);
      this.#parsed = 0;
    }
  }

  #settleText(source: string): void {
    this.#definitions.learn(source, this.#settled);
    this.#settle({ type: "text", source, continued: this.#continued, start: this.#start });
  }

  #settle(block: MarkdownBlock): void {
    this.#blocks.length = this.#settled;
    this.#blocks.push(block);
    this.#settled += 1;
  }

  #showOpen(): void {
    this.#blocks.length = this.#settled;
    if (this.#code !== undefined) {
      this.#blocks.push(this.#code.block(this.#region, this.#ended));
      return;
    }
    const source = this.#ended ? this.#region : withoutUndecidedEnd(this.#region);
    if (source.trim() !== "") {
      this.#blocks.push({ type: "text", source, continued: this.#continued, start: this.#start });
    }
  }
}
