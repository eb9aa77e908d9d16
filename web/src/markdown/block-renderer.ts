// Renders one block of Markdown to safe DOM. The parser passes no HTML through, and the sanitiser allows only what the
// parser writes.

import createDOMPurify, { type Config, type DOMPurify } from "dompurify";
import type { TextBlock } from "./block";
import { blockHtml, type References } from "./parser";

// prettier-ignore
const TAGS = [
  "a", "blockquote", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "input", "li", "ol", "p",
  "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
];
// prettier-ignore
const PLAIN_ATTRIBUTES = [
  "aria-label", "checked", "class", "data-language", "data-line", "data-path", "dir", "disabled", "rel", "role",
  "start", "tabindex", "title", "type",
];
const CONFIG: Config & { RETURN_DOM_FRAGMENT: true } = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ["href", ...PLAIN_ATTRIBUTES],
  ADD_URI_SAFE_ATTR: PLAIN_ATTRIBUTES,
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

let sanitiser: DOMPurify | undefined;

export function renderBlock(block: TextBlock, references: References): DocumentFragment {
  sanitiser ??= createSanitiser();
  return sanitiser.sanitize(blockHtml(block.source, references, block.start), CONFIG);
}

function createSanitiser(): DOMPurify {
  const created = createDOMPurify(window);
  // Kept, so that it is not read again for each block.
  created.setConfig(CONFIG);
  return created;
}
