// Entries of Portico in VS Code's list of models: agents, and the models that Porter can use.

import type { LanguageModelChatInformation } from "vscode";
import type { Agent, Model } from "../../../web/src/generated/portico/v1/agent_pb";

export interface ListedModel extends LanguageModelChatInformation {
  /** The name of the agent; undefined for a bare model. */
  readonly agent?: string;
  readonly model?: string;
  /** Shown in the list without being asked for. Not every VS Code looks at it. */
  readonly isUserSelectable: true;
}

const WINDOW = 128_000;
const LONGEST_ANSWER = 16_000;

/** It has tools of its own, and calls those that come with a request. */
export function listedAgent({ name, title }: Agent): ListedModel {
  return {
    id: `agent:${name}`,
    name: `Portico: ${title === "" ? name : title}`,
    family: name,
    version: "1",
    detail: "agent",
    tooltip: "A Portico agent. It works in this folder, in its own session.",
    maxInputTokens: WINDOW,
    maxOutputTokens: LONGEST_ANSWER,
    capabilities: { toolCalling: true, imageInput: true },
    agent: name,
    isUserSelectable: true,
  };
}

export function listedModel({ name, about, window, tools, images }: Model): ListedModel {
  const size = window === 0 ? WINDOW : window;
  const longest = Math.min(LONGEST_ANSWER, Math.floor(size / 4));
  return {
    id: `model:${name}`,
    name: name.slice(name.indexOf(":") + 1),
    family: name,
    version: "1",
    detail: "Portico",
    tooltip: [name, about].filter((part) => part !== "").join(", "),
    maxInputTokens: size - longest,
    maxOutputTokens: longest,
    capabilities: { toolCalling: tools, imageInput: images },
    model: name,
    isUserSelectable: true,
  };
}
