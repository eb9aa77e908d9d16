// Sessions that write in a folder: one at a time.

import type { Gateway } from "../../gateway/gateway";
import { ReviewMode, type SessionSummary } from "../../generated/portico/v1/agent_pb";
import { isActive } from "./card";

/** Whether a session is at work in the folder itself, and not beside it. */
export function isWritingIn(workspace: string, session: SessionSummary): boolean {
  const isBeside = session.mode === ReviewMode.WORKTREE || session.mode === ReviewMode.PROPOSAL;
  return session.workspace === workspace && isActive(session.state) && !session.readsOnly && !isBeside;
}

export function writerIn(
  workspace: string,
  sessions: Iterable<SessionSummary>,
  except: string,
): SessionSummary | undefined {
  return [...sessions].find((one) => one.sessionId !== except && isWritingIn(workspace, one));
}

/** Stops the running turns of other sessions in a folder. */
export async function stopWriters(gateway: Gateway, workspace: string, except: string): Promise<void> {
  const { sessions } = await gateway.client.listSessions({ workspace });
  const busy = sessions.filter((one) => one.sessionId !== except && isWritingIn(workspace, one));
  await Promise.all(busy.map(({ sessionId }) => gateway.client.stopTurn({ sessionId })));
}
