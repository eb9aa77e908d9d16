// Converts VS Code's messages to a model into a request to the server.

import type { MessageInitShape } from "@bufbuild/protobuf";
import * as vscode from "vscode";
import {
  ModelRole,
  type AttachmentSchema,
  type CompleteModelRequestSchema,
  type ModelImageSchema,
  type ModelPartSchema,
} from "../../../web/src/generated/portico/v1/agent_pb";

export type ChatMessages = readonly vscode.LanguageModelChatRequestMessage[];
type Part = MessageInitShape<typeof ModelPartSchema>;
type Image = MessageInitShape<typeof ModelImageSchema>;
type ModelRequest = Pick<
  MessageInitShape<typeof CompleteModelRequestSchema>,
  "system" | "messages" | "tools"
>;

const { User, Assistant } = vscode.LanguageModelChatMessageRole;
const MUST_CALL = "Answer by calling one of the tools.";

export function modelRequest(
  messages: ChatMessages,
  { tools = [], toolMode }: vscode.ProvideLanguageModelChatResponseOptions,
): ModelRequest {
  const mustCall = toolMode === vscode.LanguageModelChatToolMode.Required ? [MUST_CALL] : [];
  return {
    system: [...messages.filter(isSystem).map(messageText), ...mustCall].join("\n\n"),
    messages: messages
      .filter((message) => !isSystem(message))
      .map(({ role, content }) => ({
        role: role === Assistant ? ModelRole.ASSISTANT : ModelRole.USER,
        parts: content.flatMap(partOf),
      })),
    tools: tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      schemaJson: inputSchema === undefined ? "" : JSON.stringify(inputSchema),
    })),
  };
}

/** The words of a message, without all else that it has. */
export function messageText({ content }: ChatMessages[number]): string {
  return content
    .flatMap((part) => (part instanceof vscode.LanguageModelTextPart ? [part.value] : []))
    .join("");
}

/** The results of tools in the newest messages. */
export function toolResults(messages: ChatMessages): vscode.LanguageModelToolResultPart[] {
  const start = messages.findLastIndex(({ role }) => role === Assistant) + 1;
  return messages
    .slice(start)
    .flatMap(({ content }) => content)
    .filter((part) => part instanceof vscode.LanguageModelToolResultPart);
}

type Attachment = MessageInitShape<typeof AttachmentSchema>;

/** The images of messages, for an agent. */
export function imageAttachments(messages: ChatMessages): Attachment[] {
  return messages
    .flatMap(({ content }) => content.flatMap(imageIn))
    .map(({ mimeType = "", data = new Uint8Array() }, index) => ({
      name: `image-${index + 1}.${mimeType.slice(mimeType.indexOf("/") + 1)}`,
      mimeType,
      source: { case: "data", value: data } as const,
    }));
}

/** A role that the published interface has no name for. */
export function isSystem({ role }: ChatMessages[number]): boolean {
  return ![User, Assistant].includes(role);
}

function partOf(part: unknown): Part[] {
  if (part instanceof vscode.LanguageModelTextPart) return [{ part: { case: "text", value: part.value } }];
  if (part instanceof vscode.LanguageModelToolCallPart) {
    const { callId, name, input } = part;
    return [{ part: { case: "call", value: { callId, name, argumentsJson: JSON.stringify(input) } } }];
  }
  if (part instanceof vscode.LanguageModelToolResultPart) {
    const { callId, content } = part;
    const text = content.map(resultText).join("");
    return [{ part: { case: "result", value: { callId, text, images: content.flatMap(imageIn) } } }];
  }
  return imageIn(part).map((value) => ({ part: { case: "image", value } }));
}

export function resultText(part: unknown): string {
  if (part instanceof vscode.LanguageModelTextPart) return part.value;
  return part instanceof vscode.LanguageModelPromptTsxPart ? JSON.stringify(part.value) : "";
}

/** Data is younger than the oldest VS Code that this runs in. */
export function imageIn(part: unknown): Image[] {
  if (typeof part !== "object" || part === null || !("mimeType" in part) || !("data" in part)) return [];
  const { mimeType, data } = part;
  const isImage = typeof mimeType === "string" && mimeType.startsWith("image/") && data instanceof Uint8Array;
  return isImage ? [{ mimeType, data: Uint8Array.from(data) }] : [];
}
