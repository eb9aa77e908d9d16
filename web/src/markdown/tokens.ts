// Turns the parser's tokens into the few shapes that the page shows. Pure: tokens in, the same tokens changed.

import type { Token } from "markdown-it";
import { withoutDirectionControls } from "./direction-controls";
import { linkTarget } from "./link-target";

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

/** Pictures are not fetched from the web: whoever wrote the text would learn who reads it. */
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
