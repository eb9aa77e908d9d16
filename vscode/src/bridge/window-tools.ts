// Tools that VS Code and its extensions offer to language models.

import type { MessageInitShape } from "@bufbuild/protobuf";
import * as vscode from "vscode";
import type {
  EditorToolSchema,
  InvokeTool,
  ToolInvokedSchema,
} from "../../../web/src/generated/portico/v1/agent_pb";
import { parseAnswer as objectIn } from "../server/program-runner";
import { imageIn, resultText } from "../models/model-request";

export type WindowTool = MessageInitShape<typeof EditorToolSchema>;
export type ToolResult = MessageInitShape<typeof ToolInvokedSchema>;

export function availableTools(): WindowTool[] {
  return vscode.lm.tools.map(toolOf);
}

export function toolOf({
  name,
  description,
  inputSchema,
}: Pick<vscode.LanguageModelToolInformation, "name" | "description"> & {
  readonly inputSchema?: object | undefined;
}): WindowTool {
  return { name, description, schemaJson: inputSchema === undefined ? "" : JSON.stringify(inputSchema) };
}

/** Rejects with what went wrong, in the tool's own words. */
export async function invokeTool(
  { name, inputJson }: Pick<InvokeTool, "name" | "inputJson">,
  signal: AbortSignal,
): Promise<ToolResult> {
  const cancelling = new vscode.CancellationTokenSource();
  signal.addEventListener("abort", () => cancelling.cancel(), { once: true });
  try {
    const input = objectIn(inputJson) ?? {};
    const options = { input, toolInvocationToken: undefined };
    return resultOf((await vscode.lm.invokeTool(name, options, cancelling.token)).content);
  } finally {
    cancelling.dispose();
  }
}

export function resultOf(content: readonly unknown[]): ToolResult {
  return { text: content.map(resultText).join(""), images: content.flatMap(imageIn) };
}
