// Finds invisible points to split a block that has grown too long. They depend on the text of the block only, never on
// how it arrived.

import { blockTokens, noReferences } from "./parser";
import type { ParsedLines, BlockUnit } from "./block-units";

export interface SplitLimits {
  /** A longer block is cut where the cut is invisible. */
  readonly soft: number;
  /** A block longer than this is cut at the end of some line. */
  readonly hard: number;
  /** A line longer than this is cut between words, if it has any. Together with `soft` at most `hard`. */
  readonly line: number;
}

export interface SplitPoint {
  readonly line: number;
  /** Number of first lines that the rest depends on: a table's head. */
  readonly headLines: number;
  /** Number of items of an ordered list before the seam. */
  readonly items: number | undefined;
}

interface Search {
  readonly unit: BlockUnit;
  readonly text: string;
  readonly offsets: readonly number[];
  readonly from: number;
  /** The line behind which nothing is certain: the last line of an open unit may be the head of a table. */
  readonly certainEnd: number;
}

/** The first place at or behind `from`, an offset into the parsed text, where this unit may be cut. */
export function findSplitPoint(
  unit: BlockUnit,
  text: string,
  parsed: ParsedLines,
  from: number,
): SplitPoint | undefined {
  const certainEnd = unit === parsed.units.at(-1) ? unit.endLine - 1 : unit.endLine;
  const search: Search = { unit, text, offsets: parsed.offsets, from, certainEnd };
  // A line that begins with a bracket may be a link definition as long as it is open.
  if (unit.tokens[0]?.type !== "table_open" && /^ {0,3}\[/.test(lineAt(search, unit.firstLine))) {
    return undefined;
  }
  switch (unit.tokens[0]?.type) {
    case "bullet_list_open":
    case "ordered_list_open":
      return listSplitPoint(search);
    case "table_open":
      return tableSplitPoint(search);
    case "paragraph_open":
    case "heading_open":
      return lineSplitPoint(search, "paragraph_open");
    case "code_block":
      return lineSplitPoint(search, "code_block");
    default:
      return undefined;
  }
}

function listSplitPoint(search: Search): SplitPoint | undefined {
  const items = search.unit.tokens.filter((token) => token.type === "list_item_open" && token.level === 1);
  const position = items.findIndex((item, index) => index > 0 && isBehind(search, item.map?.[0]));
  const line = items[position]?.map?.[0];
  const ordered = search.unit.tokens[0]?.type === "ordered_list_open";
  return line === undefined ? undefined : { line, headLines: 0, items: ordered ? position : undefined };
}

function tableSplitPoint(search: Search): SplitPoint | undefined {
  const { unit, offsets, from } = search;
  const begin = offsets[unit.firstLine] ?? 0;
  const head = (offsets[unit.firstLine + 2] ?? 0) - begin;
  const rows = unit.tokens.filter((token) => token.type === "tr_open");
  const line = rows.find((row, index) => index > 1 && isBehind(search, row.map?.[0]))?.map?.[0];
  return line === undefined || head * 4 > from - begin ? undefined : { line, headLines: 2, items: undefined };
}

/** A line that is the same kind of block when it stands alone, and is not the head of a table. */
function lineSplitPoint(search: Search, type: string): SplitPoint | undefined {
  for (let line = search.unit.firstLine + 1; line + 1 < search.certainEnd; line += 1) {
    if (isBehind(search, line)) {
      const alone = lineAt(search, line);
      if (blockTokens(alone, noReferences())[0]?.type === type && !/^ {0,3}\[/.test(alone)) {
        return { line, headLines: 0, items: undefined };
      }
    }
  }
  return undefined;
}

function isBehind(search: Search, line: number | undefined): boolean {
  return line !== undefined && (search.offsets[line] ?? 0) >= search.from;
}

function lineAt(search: Search, line: number): string {
  return search.text.slice(search.offsets[line], search.offsets[line + 1]);
}

/** Last resort for a cut, which text written by people never needs. */
export function forcedCut(text: string, { hard, line }: SplitLimits): number | undefined {
  let start = 0;
  while (start + line < text.length && start + line <= hard) {
    const end = text.indexOf("\n", start);
    if (end < 0 || end - start > line) {
      return start + wordEnd(text.slice(start, start + line));
    }
    start = end + 1;
  }
  return text.length > hard ? text.lastIndexOf("\n", hard - 1) + 1 : undefined;
}

/** Length to take of a long line: whole words if there are any, and never half a character. */
function wordEnd(part: string): number {
  const space = part.lastIndexOf(" ") + 1;
  if (space > part.length / 2) {
    return space;
  }
  return /[\ud800-\udbff]$/.test(part) ? part.length - 1 : part.length;
}
