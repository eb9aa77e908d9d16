// Both sides of a proposed file in VS Code's diff editor.

import { basename } from "node:path/posix";
import * as vscode from "vscode";
import type { ServerConnection } from "../server/connection";
import type { FileNode } from "./changes";

export const PROPOSAL_SCHEME = "portico-proposal";

export interface ProposedFileAddress {
  readonly sessionId: string;
  readonly proposalId: string;
  /** Another revision is another document. */
  readonly revision: number;
  readonly path: string;
  readonly side: "old" | "new";
}

type Shown = Pick<FileNode, "sessionId" | "proposal" | "file">;

export async function showDiff({ sessionId, proposal, file }: Shown): Promise<void> {
  const { proposalId, revision } = proposal;
  const uriOf = (side: ProposedFileAddress["side"]): vscode.Uri =>
    proposedUri({ sessionId, proposalId, revision, path: file.path, side });
  const title = `${basename(file.path)} (proposed)`;
  await vscode.commands.executeCommand("vscode.diff", uriOf("old"), uriOf("new"), title, { preview: true });
}

export function proposedUri(address: ProposedFileAddress): vscode.Uri {
  const { sessionId, proposalId, revision, path, side } = address;
  const query = JSON.stringify({ sessionId, proposalId, revision, path, side });
  return vscode.Uri.from({ scheme: PROPOSAL_SCHEME, path: `/${path}`, query });
}

/** The text of one side of a proposal's diff; undefined for other documents. */
export function addressOf({ scheme, query }: vscode.Uri): ProposedFileAddress | undefined {
  return scheme === PROPOSAL_SCHEME ? (JSON.parse(query) as ProposedFileAddress) : undefined;
}

export class ProposedFileProvider implements vscode.TextDocumentContentProvider {
  readonly connection: ServerConnection;

  constructor(connection: ServerConnection) {
    this.connection = connection;
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { sessionId, proposalId, path, side } = JSON.parse(uri.query) as ProposedFileAddress;
    const { contents } = await this.connection.call((client) =>
      client.getProposal({ sessionId, proposalId, paths: [path] }),
    );
    const found = contents.find((one) => one.path === path);
    return (side === "old" ? found?.oldText : found?.newText) ?? "";
  }
}
