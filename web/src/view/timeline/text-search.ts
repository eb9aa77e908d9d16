// Text search in items, including folded and unrendered ones.

import type { ContentBlock, Item, ToolItem } from "../../model/types";

/** A test for the words; undefined if there is nothing to look for. */
export function matcherOf(query: string): RegExp | undefined {
  const words = query.trim();
  return words === "" ? undefined : new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "iu");
}

export function hasMatch(item: Item, matcher: RegExp): boolean {
  return textsOf(item).some((text) => matcher.test(text));
}

/** Every text of an item that a person can come to see. */
export function textsOf(item: Item): readonly string[] {
  switch (item.type) {
    case "prompt":
    case "answer":
    case "thought":
      return [item.text, ...item.blocks.map(blockText)];
    case "tool":
      return toolTexts(item);
    case "plan":
      return item.entries.map((entry) => entry.content);
    case "permission":
      return [item.request.title];
    case "question":
      return [item.asked.title, item.asked.message];
    case "notice":
      return [item.notice.text, item.notice.details];
    case "error":
      return [item.error.message, item.error.details?.suggestion ?? "", item.error.details?.stderr ?? ""];
    case "proposal":
      return item.listed.map((file) => file.path);
    case "end":
      return [];
    case "mark":
      return [item.text];
  }
}

function toolTexts(tool: ToolItem): readonly string[] {
  const texts = [tool.title, tool.inputJson ?? "", tool.outputJson ?? ""];
  for (const { part } of tool.content) {
    if (part.case === "text") texts.push(part.value.text);
    else if (part.case === "diff") texts.push(part.value.path, part.value.newText, part.value.oldText ?? "");
    else if (part.case === "block") texts.push(part.value.blockJson);
  }
  for (const terminal of tool.terminals.values()) texts.push(terminal.text);
  return texts;
}

function blockText(block: ContentBlock): string {
  return `${block.name} ${block.uri} ${block.text}`;
}
