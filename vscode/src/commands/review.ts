// Commands about proposals and checkpoints: review, apply, discard, restore.

import * as vscode from "vscode";
import type { ProposalUpdated } from "../../../web/src/generated/portico/v1/events_pb";
import { canDiff } from "../../../web/src/model/proposal-diff";
import { registerCommand, confirm, readId, resolveSession } from "./registration";
import type { Services } from "../services";
import { CheckpointNode, FileNode, ProposalNode } from "../views/changes";
import { conflictMessage } from "../views/conflict-message";
import { showDiff } from "../review/proposal-documents";

export function reviewCommands(services: Services): vscode.Disposable[] {
  const { connection } = services;
  return [
    registerCommand("reviewChanges", services, async (given) => {
      const found = await proposalFor(services, given);
      if (found === undefined) return;
      await review(services, found, readPath(given));
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
      await renew(services, sessionId);
    }),
    registerCommand("openProposedFile", services, (given) =>
      given instanceof FileNode
        ? showDiff({ ...given.proposal, sessionId: given.sessionId }, given.file)
        : undefined,
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

/** The proposal of the entry, of the card in the chat, or of the review in front; else the last one of the session. */
async function proposalFor(services: Services, given: unknown): Promise<FoundProposal | undefined> {
  if (given instanceof ProposalNode || given instanceof FileNode) return given;
  const front = readId(given, "sessionId") === undefined ? services.reviews.front : undefined;
  const sessionId = front?.sessionId ?? (await resolveSession(services, given));
  if (sessionId === undefined) return undefined;
  const { proposals } = await services.connection.call((client) => client.getProposal({ sessionId }));
  const wanted = front?.proposalId ?? readId(given, "proposalId");
  const proposal =
    wanted === undefined ? proposals.at(-1) : proposals.find(({ proposalId }) => proposalId === wanted);
  if (proposal !== undefined) return { sessionId, proposal };
  void vscode.window.showInformationMessage("Portico: Nothing to review.");
  return undefined;
}

/** In VS Code's editor for changes. Conflicts are resolved in the chat, as are files that no diff can show. */
async function review(services: Services, found: FoundProposal, path: string | undefined): Promise<void> {
  const { sessionId, proposal } = found;
  const { proposalId } = proposal;
  if (!canDiff(proposal, path))
    await services.chat.send({ name: "review", sessionId, proposalId, ...(path !== undefined && { path }) });
  else if (path !== undefined) await showDiff({ sessionId, proposalId }, { path });
  else await services.reviews.show(sessionId, proposal);
}

/** Shows what is left of the proposals of a session. */
async function renew({ connection, current, reviews }: Services, sessionId: string): Promise<void> {
  const { proposals } = await connection.call((client) => client.getProposal({ sessionId }));
  await reviews.take(sessionId, proposals);
  await current.refresh();
}

async function apply(
  services: Services,
  { sessionId, proposal: { proposalId, revision } }: FoundProposal,
  files: { path: string }[],
): Promise<void> {
  const { connection, chat } = services;
  const { applied, merged, proposal } = await connection.call((client) =>
    client.applyProposal({ sessionId, proposalId, revision, files }),
  );
  await renew(services, sessionId);
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
    void vscode.window.showWarningMessage("Portico: Cannot undo: the applied lines have been edited since.");
  await renew(services, sessionId);
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

/** The file of a card that was clicked. */
function readPath(given: unknown): string | undefined {
  const path = readId(given, "path");
  return path === "" ? undefined : path;
}
