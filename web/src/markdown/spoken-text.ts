// Markdown as plain text for screen readers: without markup and code.

import type { Token } from "markdown-it";
import { withoutDirectionControls } from "./direction-controls";
import { parser } from "./parser";

/** Spoken in place of code. */
const CODE = "(code)";

export function spokenText(markdown: string): string {
  return parser
    .parse(markdown, {})
    .flatMap((token) => {
      if (token.type === "fence" || token.type === "code_block") return [CODE];
      return token.type === "inline" ? [inlineText(token.children ?? [])] : [];
    })
    .join("\n");
}

function inlineText(tokens: readonly Token[]): string {
  return withoutDirectionControls(tokens.map(wordsOf).join(""));
}

function wordsOf(token: Token): string {
  return token.type === "softbreak" || token.type === "hardbreak" ? "\n" : token.content;
}
