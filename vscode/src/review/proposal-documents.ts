// Both sides of proposed files as read-only documents, renewed in place when the proposal changes.

import { basename } from "node:path/posix";
import * as vscode from "vscode";
import type { ProposedFile } from "../../../web/src/generated/portico/v1/events_pb";
import type { ServerConnection } from "../server/connection";

export const PROPOSAL_SCHEME = "portico-proposal";

export interface ProposedFileAddress {
  readonly sessionId: string;
  readonly proposalId: string;
  readonly path: string;
  readonly side: "old" | "new";
}

export interface ProposalAddress {
  readonly sessionId: string;
  readonly proposalId: string;
}

export async function showDiff(proposal: ProposalAddress, file: Pick<ProposedFile, "path">): Promise<void> {
  const title = `${basename(file.path)} (proposed)`;
  const [old, proposed] = sidesOf(proposal, file);
  await vscode.commands.executeCommand("vscode.diff", old, proposed, title, { preview: true });
}

export function sidesOf(
  { sessionId, proposalId }: ProposalAddress,
  { path }: Pick<ProposedFile, "path">,
): readonly [old: vscode.Uri, proposed: vscode.Uri] {
  const side = (name: ProposedFileAddress["side"]): vscode.Uri =>
    proposedUri({ sessionId, proposalId, path, side: name });
  return [side("old"), side("new")];
}

export function proposedUri({ sessionId, proposalId, path, side }: ProposedFileAddress): vscode.Uri {
  const query = JSON.stringify({ sessionId, proposalId, path, side });
  return vscode.Uri.from({ scheme: PROPOSAL_SCHEME, path: `/${path}`, query });
}

/** The side of a proposed file that a document shows; undefined for other documents. */
export function addressOf({ scheme, query }: vscode.Uri): ProposedFileAddress | undefined {
  return scheme === PROPOSAL_SCHEME ? (JSON.parse(query) as ProposedFileAddress) : undefined;
}

export class ProposalDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #connection: ServerConnection;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  /** The revision that each document shows. */
  readonly #revisions = new Map<string, number>();
  readonly onDidChange = this.#changed.event;

  constructor(connection: ServerConnection) {
    this.#connection = connection;
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { sessionId, proposalId, path, side } = JSON.parse(uri.query) as ProposedFileAddress;
    const { proposals, contents } = await this.#connection.call((client) =>
      client.getProposal({ sessionId, proposalId, paths: [path] }),
    );
    this.#revisions.set(uri.toString(), proposals[0]?.revision ?? 0);
    const found = contents.find((one) => one.path === path);
    return (side === "old" ? found?.oldText : found?.newText) ?? "";
  }

  /** The proposal as the person sees it, so that nothing else is decided on; undefined if it was never shown. */
  revisionOf(uri: vscode.Uri): number | undefined {
    return this.#revisions.get(uri.toString());
  }

  /** Reads the documents of a proposal again that show another revision. */
  renew({ sessionId, proposalId }: ProposalAddress, revision: number): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      const address = addressOf(uri);
      if (address?.sessionId !== sessionId || address.proposalId !== proposalId) continue;
      if (this.revisionOf(uri) !== revision) this.#changed.fire(uri);
    }
  }

  dispose(): void {
    this.#changed.dispose();
  }
}
