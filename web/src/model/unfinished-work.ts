// Unfinished work that would be lost or left behind with a session.

import type { Gateway } from "../gateway/gateway";
import { ReviewMode, type SessionSummary } from "../generated/portico/v1/agent_pb";
import type { ProposedFile } from "../generated/portico/v1/events_pb";

export interface UnfinishedWork {
  /** Changes that the person has not decided on. */
  readonly files: readonly ProposedFile[];
  /** Number of files beyond those. */
  readonly unlisted: number;
  /** The branch that is not finished, if the session works in the person's folder on one. */
  readonly branch: string;
}

/** Undefined if there is none or the server does not answer; the server checks again before it deletes. */
export async function findUnfinishedWork(
  { client }: Gateway,
  session: SessionSummary,
): Promise<UnfinishedWork | undefined> {
  const { sessionId, mode } = session;
  try {
    const [detail, status] = await Promise.all([
      client.getSession({ sessionId }),
      mode === ReviewMode.BRANCH ? client.getReviewStatus({ sessionId }) : undefined,
    ]);
    const proposals = detail.session?.proposals ?? [];
    const files = proposals.flatMap((one) => one.files);
    const unlisted = proposals.reduce((sum, one) => sum + one.unlisted, 0);
    const branch = status?.unfinished === true ? status.branch : "";
    return files.length + unlisted > 0 || branch !== "" ? { files, unlisted, branch } : undefined;
  } catch {
    return undefined;
  }
}
