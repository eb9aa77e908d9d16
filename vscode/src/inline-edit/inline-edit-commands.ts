// Commands of inline edits.

import * as vscode from "vscode";
import { registerCommand } from "../commands/registration";
import type { Services } from "../services";
import { InlineEdits } from "./inline-edits";

export function inlineEditCommands(services: Services, memory: vscode.Memento): vscode.Disposable[] {
  const edits = new InlineEdits(services, memory);
  const decision = (name: string, decision: "apply" | "discard", whole: boolean): vscode.Disposable =>
    registerCommand(name, services, (given, hunkId) => edits.decide(decision, whole, given, hunkId));
  return [
    edits,
    registerCommand("editInline", services, () => edits.begin()),
    registerCommand("stopInlineEdit", services, (uri) => edits.stop(uri)),
    decision("acceptInlineEdit", "apply", false),
    decision("rejectInlineEdit", "discard", false),
    decision("acceptWholeInlineEdit", "apply", true),
    decision("rejectWholeInlineEdit", "discard", true),
    registerCommand("reviewInlineEdit", services, (uri) => edits.review(uri)),
    registerCommand("refineInlineEdit", services, (reply) => edits.refine(reply as vscode.CommentReply)),
  ];
}
