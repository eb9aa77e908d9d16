// Hides the end of a growing text whose meaning the next character may change.

import { withoutBegunTag } from "./break-tags";

// A run of markers (a rule, a heading, a list item, the line under a heading or a table's head) or a number.
const ONLY_MARKERS = /^[ \t>]*(?:[-=*_+#`~|:>\s]+|\d{1,9}[.)]?[ \t]*)$/;
const OPENING_FENCE = /^ {0,3}(?:```|~~~)/;
const TASK_BOX = /^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX]?\]?$/;
const TABLE_HEAD = /^ {0,3}\|[^\n]*\n?$/;
const LONGEST_GUESS = 200;

/** The part of open Markdown that can be shown without showing it as something that it is not. */
export function withoutUndecidedEnd(open: string): string {
  const source = withoutBegunTag(open);
  const lineStart = source.lastIndexOf("\n") + 1;
  const line = source.slice(lineStart, lineStart + LONGEST_GUESS + 1);
  const undecided =
    line.length <= LONGEST_GUESS &&
    (ONLY_MARKERS.test(line) || OPENING_FENCE.test(line) || TASK_BOX.test(line));
  const shown = undecided ? source.slice(0, lineStart) : source;
  return shown.length <= LONGEST_GUESS && TABLE_HEAD.test(shown) ? "" : shown;
}
