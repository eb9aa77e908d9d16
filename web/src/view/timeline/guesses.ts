// How high an item probably is before anybody has seen it. Rather too low: the list then shows more, not less.

import type { Item } from "../../model/types";

const LINE = 20;
const LETTERS_IN_LINE = 70;
const LONGEST_PROMPT = 13;

export function guessHeight(item: Item): number {
  switch (item.type) {
    case "prompt":
      return 44 + LINE * Math.min(LONGEST_PROMPT, linesOf(item.text));
    case "answer":
      return 12 + LINE * linesOf(item.text);
    case "permission":
    case "question":
      return 80;
    case "proposal":
      return 92 + 26 * Math.min(8, item.proposal.files.length);
    case "error":
      return 90;
    case "notice":
      return item.notice.code === "" ? 30 : 150;
    case "thought":
    case "tool":
    case "plan":
    case "end":
    case "mark":
      return 30;
  }
}

function linesOf(text: string): number {
  return Math.max(1, Math.round(text.length / LETTERS_IN_LINE));
}
