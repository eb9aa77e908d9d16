// The Markdown parser of the page, configured so that its output needs no trust. Knows no DOM.

import MarkdownIt from "markdown-it";
import type { Env, RendererRule, StateCore, Token } from "markdown-it";
import { parseBreakTag } from "./break-tags";
import { visiblePieces, withoutDirectionControls } from "./direction-controls";
import { linkTarget } from "./link-target";

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

/** The parser's own rule, except that text made of brackets, which would take quadratic time, is left as it is. */
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

/** Marks, bars and columns stand on the side where their words begin. */
const SIDED = new Set(["blockquote_open", "bullet_list_open", "ordered_list_open"]);
const TASK = /^\[([ xX])\](?=[ \t\u00a0])/;

export function adjustTokens(tokens: Token[]): void {
  for (const [index, token] of tokens.entries()) {
    if (token.type === "th_open" || token.type === "td_open") {
      alignByClass(token);
    } else if (SIDED.has(token.type)) {
      token.attrSet("dir", "auto");
    } else if (token.type === "inline" && token.children !== null) {
      if (tokens[index - 1]?.type === "paragraph_open" && tokens[index - 2]?.type === "list_item_open") {
        checkTask(tokens[index - 2], token);
      }
      token.children = adjustInline(token.children);
    }
  }
}

/** A style attribute would fall to the page's content security policy. */
function alignByClass(token: Token): void {
  const alignment = /text-align:(\w+)/.exec(String(token.attrGet("style") ?? ""))?.[1];
  token.attrs = alignment === undefined ? null : [["class", `align-${alignment}`]];
}

function checkTask(item: Token | undefined, inline: Token): void {
  const first = inline.children?.[0];
  const mark = first?.type === "text" ? TASK.exec(first.content) : null;
  if (mark === null || first === undefined || item === undefined) {
    return;
  }
  const done = mark[1] !== " ";
  const box = new (first.constructor as typeof Token)("checkbox", "input", 0);
  box.attrs = [
    ["type", "checkbox"],
    ["disabled", ""],
    ["aria-label", done ? "Done" : "Not done"],
  ];
  if (done) {
    box.attrs.push(["checked", ""]);
  }
  item.attrJoin("class", "task");
  first.content = first.content.slice(3);
  inline.children?.unshift(box);
}

function adjustInline(tokens: Token[]): Token[] {
  const adjusted: Token[] = [];
  const open: Token[] = [];
  for (const token of tokens) {
    if (token.type === "link_open") {
      open.push(token);
      aim(token);
      adjusted.push(token);
    } else if (token.type === "link_close") {
      token.tag = open.pop()?.tag ?? token.tag;
      adjusted.push(token);
    } else if (token.type === "image") {
      adjusted.push(...imageAsLink(token, open.length > 0));
    } else {
      adjusted.push(token);
    }
  }
  return adjusted;
}

/** A link to the web says where it leads; a file is no link of the browser's but may be opened by an editor. */
function aim(token: Token): void {
  const href = String(token.attrGet("href") ?? "");
  const target = linkTarget(href);
  const title = withoutDirectionControls(String(token.attrGet("title") ?? ""));
  if (target?.type === "web") {
    token.attrs = [
      ["href", target.url],
      ["title", title === "" ? target.url : `${title}\n${target.url}`],
      ["rel", "noopener noreferrer"],
    ];
  } else {
    token.tag = "span";
    token.attrs = target === undefined ? null : fileAttributes(target.path, target.line);
  }
}

function fileAttributes(path: string, line: number | undefined): [string, string][] {
  const plain: [string, string][] = [
    ["class", "prose-path"],
    ["data-path", path],
    ["title", withoutDirectionControls(line === undefined ? path : `${path}:${line}`)],
  ];
  return line === undefined ? plain : [...plain, ["data-line", String(line)]];
}

/** Images are not fetched from the web, because that would tell the author who reads the text. */
function imageAsLink(image: Token, insideLink: boolean): Token[] {
  const Kind = image.constructor as typeof Token;
  const text = new Kind("text", "", 0);
  text.content = image.content === "" ? "image" : plainText(image.children ?? []);
  if (insideLink) {
    return [text];
  }
  const begin = new Kind("link_open", "a", 1);
  begin.attrs = [["href", String(image.attrGet("src") ?? "")]];
  aim(begin);
  if (begin.tag === "a") {
    begin.attrJoin("class", "prose-image");
  }
  const end = new Kind("link_close", begin.tag, -1);
  return [begin, text, end];
}

function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === "softbreak" || token.type === "hardbreak") {
        return " ";
      }
      return token.children === null ? token.content : plainText(token.children);
    })
    .join("");
}
