// Commands that apply or discard the hunk at the cursor of the diff editor.

import * as vscode from "vscode";
import type { ProposalUpdated, ProposedHunk } from "../../../web/src/generated/portico/v1/events_pb";
import { registerCommand } from "../commands/registration";
import type { Services } from "../services";
import { conflictMessage } from "../views/conflict-message";
import { addressOf, showDiff, type ProposedFileAddress } from "../views/proposal-diff";

export function hunkCommands(services: Services): vscode.Disposable[] {
  return [
    registerCommand("applyHunk", services, () => decide(services, "apply")),
    registerCommand("discardHunk", services, () => decide(services, "discard")),
  ];
}

async function decide(services: Services, deed: "apply" | "discard"): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const address = editor && addressOf(editor.document.uri);
  if (editor === undefined || address === undefined)
    throw new Error("Open a proposed file in the diff editor first.");
  const { sessionId, proposalId, revision, path } = address;
  const { proposals, contents } = await services.connection.call((client) =>
    client.getProposal({ sessionId, proposalId, paths: [path] }),
  );
  const [proposal] = proposals;
  if (proposal?.revision !== revision) {
    await renew(editor.document.uri, address, proposal);
    throw new Error("The proposal has changed. Review it again.");
  }
  const hunks = contents.find((one) => one.path === path)?.hunks ?? [];
  const hunk = hunkAt(hunks, address.side, editor.selection.active.line + 1);
  if (hunk === undefined) throw new Error("Place the cursor in a change.");
  const choice = { sessionId, proposalId, revision, files: [{ path, hunkIds: [hunk.hunkId] }] };
  const left = await services.connection.call(async (client) => {
    if (deed === "discard") return (await client.discardProposal(choice)).proposal;
    const { applied, proposal: rest } = await client.applyProposal(choice);
    if (!applied) throw new Error(conflictMessage(rest));
    return rest;
  });
  await renew(editor.document.uri, address, left);
  await services.current.refresh();
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

/** Shows what is left of the proposal for the file in the place of what was there. */
async function renew(
  shown: vscode.Uri,
  address: ProposedFileAddress,
  proposal: ProposalUpdated | undefined,
): Promise<void> {
  const { sessionId, path } = address;
  const file = proposal?.files.find((one) => one.path === path);
  if (proposal !== undefined && file !== undefined) await showDiff({ sessionId, proposal, file });
  const isOld = ({ input }: vscode.Tab): boolean =>
    input instanceof vscode.TabInputTextDiff &&
    [input.original, input.modified].some((uri) => uri.toString() === shown.toString());
  await vscode.window.tabGroups.close(vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.filter(isOld)));
}
