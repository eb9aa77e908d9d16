// Parses ACP content blocks, which events carry as JSON.

import { asRecord, parseJson } from "./json";
import type { ContentBlock } from "./types";

/** A label for a block of any kind; an unreadable block is shown as it came. */
export function parseContentBlock(json: string): ContentBlock {
  const block = asRecord(parseJson(json));
  const resource = asRecord(block["resource"]);
  return {
    type: blockType(block["type"]),
    name: text(block["title"]) || text(block["name"]),
    mimeType: text(block["mimeType"]) || text(resource["mimeType"]),
    uri: text(block["uri"]) || text(resource["uri"]),
    data: text(block["data"]) || text(resource["blob"]),
    text: text(block["text"]) || text(resource["text"]),
    json,
  };
}

function blockType(type: unknown): ContentBlock["type"] {
  switch (type) {
    case "image":
    case "audio":
    case "resource_link":
    case "resource":
      return type;
    default:
      return "other";
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
