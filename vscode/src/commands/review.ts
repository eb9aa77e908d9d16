// Commands about what an agent proposes: look at it, apply it, discard it, go back to a checkpoint.

import * as vscode from "vscode";
import type { ProposalUpdated } from "../../../web/src/generated/portico/v1/events_pb";
import { command, isSure, sessionFor, type Parts } from "../parts";
import { CheckpointNode, FileNode, ProposalNode } from "../views/changes";
import { whyNotWritten } from "../views/not-written";
import { showDiff } from "../views/proposal-diff";

export function reviewCommands(parts: Parts): vscode.Disposable[] {
  const { chat, link } = parts;
  return [
    command("reviewChanges", parts, async (given) => {
      const found = await proposalFor(parts, given);
      if (found === undefined) return;
      const { sessionId, proposal } = found;
      await chat.tell({ name: "review", sessionId, proposalId: proposal.proposalId });
    }),
    command("applyProposal", parts, async (given) => {
      const found = await proposalFor(parts, given);
      if (found !== undefined) await apply(parts, found, filesOf(given));
    }),
    command("discardProposal", parts, async (given) => {
      const found = await proposalFor(parts, given);
      if (found === undefined) return;
      const { sessionId, proposal } = found;
      const { proposalId, revision } = proposal;
      const files = filesOf(given);
      if (!(await isSure(`Discard ${files[0]?.path ?? "the whole proposal"}?`, "Discard"))) return;
      await link.call((client) => client.discardProposal({ sessionId, proposalId, revision, files }));
      await parts.current.refresh();
    }),
    command("openProposedFile", parts, (given) => (given instanceof FileNode ? showDiff(given) : undefined)),
    command("restoreCheckpoint", parts, async (given) => {
      if (given instanceof CheckpointNode) await restore(parts, given);
    }),
  ];
}

interface FoundProposal {
  readonly sessionId: string;
  readonly proposal: ProposalUpdated;
}

async function proposalFor(parts: Parts, given: unknown): Promise<FoundProposal | undefined> {
  if (given instanceof ProposalNode || given instanceof FileNode) return given;
  const sessionId = await sessionFor(parts, given);
  if (sessionId === undefined) return undefined;
  const { proposals } = await parts.link.call((client) => client.getProposal({ sessionId }));
  const proposal = proposals.at(-1);
  if (proposal !== undefined) return { sessionId, proposal };
  void vscode.window.showInformationMessage("Portico: nothing waits to be reviewed.");
  return undefined;
}

async function apply(
  { link, chat, current }: Parts,
  { sessionId, proposal: { proposalId, revision } }: FoundProposal,
  files: { path: string }[],
): Promise<void> {
  const { applied, merged, proposal } = await link.call((client) =>
    client.applyProposal({ sessionId, proposalId, revision, files }),
  );
  await current.refresh();
  if (!applied) {
    const words = `Portico: ${whyNotWritten(proposal)}`;
    if ((await vscode.window.showWarningMessage(words, "Review")) === "Review")
      await chat.tell({ name: "review", sessionId, proposalId });
    return;
  }
  const kept = merged.length === 0 ? "" : ` Your own changes in ${merged.join(", ")} were kept.`;
  const chosen = await vscode.window.showInformationMessage(`Portico: applied.${kept}`, "Undo");
  if (chosen !== "Undo") return;
  const { undone } = await link.call((client) => client.undoApply({ sessionId, proposalId }));
  if (!undone)
    void vscode.window.showWarningMessage("Portico: what was applied has been changed since, so it stays.");
  await current.refresh();
}

async function restore({ link, current }: Parts, node: CheckpointNode): Promise<void> {
  const words = `Make the folder what it was at “${node.checkpoint.label}”?`;
  const detail = "What you changed since comes back as a proposal; nothing is lost.";
  if (!(await isSure(words, "Restore", detail))) return;
  const { sessionId, checkpoint } = node;
  const { checkpointId } = checkpoint;
  await link.call((client) => client.restoreCheckpoint({ sessionId, checkpointId }));
  await current.refresh();
}

/** All of them if none is named. */
function filesOf(given: unknown): { path: string }[] {
  return given instanceof FileNode ? [{ path: given.file.path }] : [];
}
