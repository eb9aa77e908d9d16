// Groups block tokens into units: the smallest runs of blocks that later lines can neither join nor split.

import type { Token } from "markdown-it";
import { blockTokens, type References } from "./parser";

/** Blocks of the source that stand or fall together, as lines of one parsed text. */
export interface BlockUnit {
  readonly firstLine: number;
  readonly endLine: number;
  readonly tokens: readonly Token[];
}

export interface ParsedLines {
  readonly units: readonly BlockUnit[];
  /** Start of each line, and the end of the text. */
  readonly offsets: readonly number[];
}

/** Parses lines that have all ended. Each unit but the last is final. */
export function parseLines(text: string, references: References): ParsedLines {
  const offsets = lineOffsets(text);
  const units: { firstLine: number; endLine: number; tokens: Token[] }[] = [];
  for (const group of topLevel(blockTokens(text, references))) {
    const [first = 0, end = 0] = group[0]?.map ?? [];
    const before = units.at(-1);
    if (before !== undefined && mayBelongTogether(before.tokens, group) && before.endLine === first) {
      before.tokens.push(...group);
      before.endLine = end;
    } else {
      units.push({ firstLine: first, endLine: end, tokens: group });
    }
  }
  return { units, offsets };
}

function* topLevel(tokens: readonly Token[]): Generator<Token[]> {
  let group: Token[] = [];
  for (const token of tokens) {
    group.push(token);
    if (token.level === 0 && token.nesting <= 0) {
      yield group;
      group = [];
    }
  }
}

/** Text right after a link definition may turn out to be its title. */
function mayBelongTogether(before: readonly Token[], next: readonly Token[]): boolean {
  const type = next[0]?.type;
  const mayBeTitle = type === "paragraph_open" || type === "heading_open" || type === "code_block";
  return mayBeTitle && before.at(-1)?.type === "reference_definition";
}

function lineOffsets(text: string): number[] {
  const offsets = [0];
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) {
    offsets.push(end + 1);
  }
  return offsets;
}
