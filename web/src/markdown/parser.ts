// The one Markdown parser of the page, set up so that nothing it writes needs trust. Knows no DOM.

import MarkdownIt from "markdown-it";
import type { Env, RendererRule, StateCore, Token } from "markdown-it";
import { parseBreakTag } from "./break-tags";
import { linkTarget } from "./link-target";
import { visiblePieces, withoutDirectionControls } from "./direction-controls";
import { adjustTokens } from "./tokens";

/** Link definitions by their normalised label. */
export type References = NonNullable<Env["references"]>;

const MOST_BRACKETS = 4_000;

export function noReferences(): References {
  return Object.create(null) as References;
}

export const parser = createParser();

function createParser(): ReturnType<typeof MarkdownIt> {
  const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true, typographer: false });
  // Only what says its scheme is a link: "main.py", "git@host" and "10.0.0.1" are words.
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  markdown.linkify.add("ftp:", null).add("//", null);
  markdown.validateLink = (url) => linkTarget(url) !== undefined;
  markdown.inline.ruler.before("autolink", "break_tag", parseBreakTag);
  markdown.core.ruler.at("inline", parseInline);
  markdown.core.ruler.push("adjust", (state) => adjustTokens(state.tokens));
  Object.assign(markdown.renderer.rules, rules(markdown.utils.escapeHtml, markdown.utils.unescapeAll));
  return markdown;
}

/** As the parser's own, but text made of brackets, which costs the square of its length, stays as it is. */
function parseInline(state: StateCore): void {
  for (const token of state.tokens) {
    if (token.type === "inline" && token.children !== null) {
      if (token.content.length > MOST_BRACKETS && token.content.split("[").length > MOST_BRACKETS) {
        const text = new state.Token("text", "", 0);
        text.content = token.content;
        token.children.push(text);
      } else {
        state.md.inline.parse(token.content, state.md, state.env, token.children);
      }
    }
  }
}

/** The block structure alone: what stands inside the lines is not looked at. Definitions land in `references`. */
export function blockTokens(text: string, references: References): Token[] {
  const tokens: Token[] = [];
  parser.block.parse(text, parser, { references }, tokens);
  return tokens;
}

/** One block's HTML, with the definitions of other blocks. Not yet safe to be shown: see render.ts. */
export function blockHtml(source: string, references: References, start?: number): string {
  const environment: Env = { references: Object.create(references) as References };
  const tokens = parser.parse(source, environment);
  if (start !== undefined && tokens[0]?.type === "ordered_list_open") {
    tokens[0].attrSet("start", String(start));
  }
  return parser.renderer.render(tokens, parser.options, environment);
}

/** The first word of what stands behind an opening fence. */
export function languageOf(info: string): string {
  return parser.utils.unescapeAll(info).trim().split(/\s/, 1)[0] ?? "";
}

function rules(
  escapeHtml: (text: string) => string,
  unescapeAll: (text: string) => string,
): Record<string, RendererRule> {
  const preformatted = (language: string, content: string): string => {
    const attribute = language === "" ? "" : ` data-language="${escapeHtml(language)}"`;
    return `<pre${attribute}><code>${escapeHtml(content)}</code></pre>\n`;
  };
  return {
    text: (tokens, index) => escapeHtml(withoutDirectionControls(tokens[index]?.content ?? "")),
    code_inline: (tokens, index) => {
      const pieces = visiblePieces(tokens[index]?.content ?? "").map((piece) =>
        "text" in piece ? escapeHtml(piece.text) : `<span class="control-mark">${piece.control}</span>`,
      );
      return `<code>${pieces.join("")}</code>`;
    },
    code_block: (tokens, index) => preformatted("", tokens[index]?.content ?? ""),
    fence: (tokens, index) => {
      const token = tokens[index];
      const language =
        unescapeAll(token?.info ?? "")
          .trim()
          .split(/\s/, 1)[0] ?? "";
      return preformatted(language, token?.content ?? "");
    },
    table_open: () =>
      '<div class="prose-table" role="group" aria-label="Table" tabindex="0"><table dir="auto">\n',
    table_close: () => "</table></div>\n",
  };
}
