// The <br> tag, which table cells need for line breaks.

import type { StateInline } from "markdown-it";

const TAG = /<br[ \t]*\/?>[ \t]*(?:\n[ \t]*)?/iy;
const BEGUN = /<(?:b(?:r[ \t]*\/?)?)?$/i;
const LONGEST_BEGUN = 8;

/** A rule of the parser's. The end of a line behind the tag is the same new line, not a second one. */
export function parseBreakTag(state: StateInline, silent: boolean): boolean {
  TAG.lastIndex = state.pos;
  const tag = TAG.exec(state.src)?.[0];
  if (tag === undefined) {
    return false;
  }
  if (!silent) {
    state.pending = state.pending.trimEnd();
    state.push("hardbreak", "br", 0);
  }
  state.pos += tag.length;
  return true;
}

/** Text that is still being written, without the tag that its last characters may be the beginning of. */
export function withoutBegunTag(source: string): string {
  const begun = BEGUN.exec(source.slice(-LONGEST_BEGUN))?.[0] ?? "";
  return source.slice(0, source.length - begun.length);
}
