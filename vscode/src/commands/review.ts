// Commands about proposals and checkpoints: review, apply, discard, restore.

import * as vscode from "vscode";
import type { ProposalUpdated } from "../../../web/src/generated/portico/v1/events_pb";
import { registerCommand, confirm, resolveSession } from "./registration";
import type { Services } from "../services";
import { CheckpointNode, FileNode, ProposalNode } from "../views/changes";
import { conflictMessage } from "../views/conflict-message";
import { showDiff } from "../views/proposal-diff";

export function reviewCommands(services: Services): vscode.Disposable[] {
  const { chat, connection } = services;
  return [
    registerCommand("reviewChanges", services, async (given) => {
      const found = await proposalFor(services, given);
      if (found === undefined) return;
      const { sessionId, proposal } = found;
      await chat.send({ name: "review", sessionId, proposalId: proposal.proposalId });
    }),
    registerCommand("applyProposal", services, async (given) => {
      const found = await proposalFor(services, given);
      if (found !== undefined) await apply(services, found, filesOf(given));
    }),
    registerCommand("discardProposal", services, async (given) => {
      const found = await proposalFor(services, given);
      if (found === undefined) return;
      const { sessionId, proposal } = found;
      const { proposalId, revision } = proposal;
      const files = filesOf(given);
      if (!(await confirm(`Discard ${files[0]?.path ?? "the whole proposal"}?`, "Discard"))) return;
      await connection.call((client) => client.discardProposal({ sessionId, proposalId, revision, files }));
      await services.current.refresh();
    }),
    registerCommand("openProposedFile", services, (given) =>
      given instanceof FileNode ? showDiff(given) : undefined,
    ),
    registerCommand("restoreCheckpoint", services, async (given) => {
      if (given instanceof CheckpointNode) await restore(services, given);
    }),
  ];
}

interface FoundProposal {
  readonly sessionId: string;
  readonly proposal: ProposalUpdated;
}

async function proposalFor(services: Services, given: unknown): Promise<FoundProposal | undefined> {
  if (given instanceof ProposalNode || given instanceof FileNode) return given;
  const sessionId = await resolveSession(services, given);
  if (sessionId === undefined) return undefined;
  const { proposals } = await services.connection.call((client) => client.getProposal({ sessionId }));
  const proposal = proposals.at(-1);
  if (proposal !== undefined) return { sessionId, proposal };
  void vscode.window.showInformationMessage("Portico: Nothing to review.");
  return undefined;
}

async function apply(
  { connection, chat, current }: Services,
  { sessionId, proposal: { proposalId, revision } }: FoundProposal,
  files: { path: string }[],
): Promise<void> {
  const { applied, merged, proposal } = await connection.call((client) =>
    client.applyProposal({ sessionId, proposalId, revision, files }),
  );
  await current.refresh();
  if (!applied) {
    const words = `Portico: ${conflictMessage(proposal)}`;
    if ((await vscode.window.showWarningMessage(words, "Review")) === "Review")
      await chat.send({ name: "review", sessionId, proposalId });
    return;
  }
  const kept = merged.length === 0 ? "" : ` Your own changes in ${merged.join(", ")} were kept.`;
  const chosen = await vscode.window.showInformationMessage(`Portico: Changes applied.${kept}`, "Undo");
  if (chosen !== "Undo") return;
  const { undone } = await connection.call((client) => client.undoApply({ sessionId, proposalId }));
  if (!undone)
    void vscode.window.showWarningMessage("Portico: Cannot undo: the applied lines were edited since.");
  await current.refresh();
}

async function restore({ connection, current }: Services, node: CheckpointNode): Promise<void> {
  const words = `Restore the folder to “${node.checkpoint.label}”?`;
  const detail = "Your changes since then become a proposal, so nothing is lost.";
  if (!(await confirm(words, "Restore", detail))) return;
  const { sessionId, checkpoint } = node;
  const { checkpointId } = checkpoint;
  await connection.call((client) => client.restoreCheckpoint({ sessionId, checkpointId }));
  await current.refresh();
}

/** All of them if none is named. */
function filesOf(given: unknown): { path: string }[] {
  return given instanceof FileNode ? [{ path: given.file.path }] : [];
}
