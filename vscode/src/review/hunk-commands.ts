// Commands that apply or discard the change at the cursor of a diff, or its whole file.

import * as vscode from "vscode";
import type { ProposedHunk } from "../../../web/src/generated/portico/v1/events_pb";
import { registerCommand } from "../commands/registration";
import type { Services } from "../services";
import { conflictMessage } from "../views/conflict-message";
import { addressOf, type ProposedFileAddress } from "./proposal-documents";

type Decision = "apply" | "discard";

export function hunkCommands(services: Services): vscode.Disposable[] {
  const command = (name: string, decision: Decision, whole: boolean): vscode.Disposable =>
    registerCommand(name, services, () => decide(services, decision, whole));
  return [
    command("applyHunk", "apply", false),
    command("discardHunk", "discard", false),
    command("applyFile", "apply", true),
    command("discardFile", "discard", true),
  ];
}

/** Only what the person sees is decided: an older revision is shown anew instead. */
async function decide(services: Services, decision: Decision, whole: boolean): Promise<void> {
  const { connection, documents, reviews, current } = services;
  const editor = vscode.window.activeTextEditor;
  const address = editor && addressOf(editor.document.uri);
  if (editor === undefined || address === undefined)
    throw new Error("Place the cursor in a proposed file first.");
  const { sessionId, proposalId, path, side } = address;
  const { proposals, contents } = await connection.call((client) =>
    client.getProposal({ sessionId, proposalId, paths: [path] }),
  );
  const revision = documents.revisionOf(editor.document.uri) ?? 0;
  if (proposals[0]?.revision !== revision) {
    await reviews.take(sessionId, proposals);
    throw new Error("The proposal has changed. Review it again.");
  }
  const hunks = contents.find((one) => one.path === path)?.hunks ?? [];
  const hunk = hunkAt(hunks, side, editor.selection.active.line + 1);
  if (hunk === undefined && !whole) throw new Error("Place the cursor in a change.");
  const hunkIds = whole || hunk === undefined ? [] : [hunk.hunkId];
  const choice = { sessionId, proposalId, revision, files: [{ path, hunkIds }] };
  await connection.call(async (client) => {
    if (decision === "discard") return await client.discardProposal(choice);
    const answer = await client.applyProposal(choice);
    if (!answer.applied) throw new Error(conflictMessage(answer.proposal));
    return answer;
  });
  const left = await connection.call((client) => client.getProposal({ sessionId }));
  await reviews.take(sessionId, left.proposals);
  await current.refresh();
}

/** The change that a line belongs to, with the lines around it that are shown with it. */
function hunkAt(
  hunks: readonly ProposedHunk[],
  side: ProposedFileAddress["side"],
  line: number,
): ProposedHunk | undefined {
  return hunks.find(({ oldStart, oldLines, newStart, newLines }) => {
    const [start, lines] = side === "old" ? [oldStart, oldLines] : [newStart, newLines];
    return line >= start && line < start + Math.max(1, lines);
  });
}
