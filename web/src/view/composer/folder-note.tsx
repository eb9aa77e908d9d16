// Note on a queued prompt that waits for another session in the same folder, with alternatives to waiting.

import { useComputed, useSignal, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import { ReviewMode, type SessionSummary } from "../../generated/portico/v1/agent_pb";
import { withVisibleControls } from "../../markdown/direction-controls";
import { failureOf } from "../../model/call-failure";
import type { SessionModel } from "../../model/types";
import type { NewSession, OnNewSession } from "../cards";
import { stopWriters } from "../cards/folder-writers";
import { isActive } from "../shell/turn-state";

interface FolderNoteProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly writer: ReadonlySignal<SessionSummary | undefined>;
  readonly onNewSession: OnNewSession;
}

export function FolderNote({ session, gateway, writer, onNewSession }: FolderNoteProps) {
  const first = useComputed(() => session.drafts.value?.queue[0]);
  const rests = useComputed(() => !isActive(session.state.value));
  /** The session that was asked to stop; its agent may take a moment. */
  const asked = useSignal("");
  const waiting = first.value;
  if (waiting === undefined || !rests.value || writer.value === undefined) return null;
  const { workspace = "", agent = "" } = session.detail.value?.summary ?? {};
  const { sessionId } = writer.value;
  const stop = async (): Promise<void> => {
    asked.value = sessionId;
    try {
      await stopWriters(gateway, workspace, session.id);
    } catch (reason) {
      asked.value = "";
      session.failure.value = failureOf(reason);
    }
  };
  /** The prompt leaves this line only when the other session has its words. */
  const move = (how: NewSession): void => {
    const onStarted = (): void => void session.unqueue(waiting.promptId);
    onNewSession(agent, { ...how, text: waiting.text, onStarted });
  };
  return (
    <div class="p-note p-folder-note" role="status">
      <i class="codicon codicon-clockface" aria-hidden="true" />
      <span>{nameOf(writer.value)} is working in this folder. This prompt is sent when it is done.</span>
      <span class="p-folder-ways">
        <button
          type="button"
          class="p-link-button"
          disabled={asked.value === sessionId}
          onClick={() => void stop()}
        >
          {asked.value === sessionId ? "Stopping…" : "Stop it"}
        </button>
        {/* Files that go along are at the server, in this line. */}
        {waiting.attachments === 0 && (
          <>
            <button
              type="button"
              class="p-link-button"
              title="In a new session with its own worktree"
              onClick={() => move({ mode: ReviewMode.WORKTREE })}
            >
              Use a worktree
            </button>
            <button
              type="button"
              class="p-link-button"
              title="In a new session that changes no files"
              onClick={() => move({ readsOnly: true })}
            >
              Read only
            </button>
          </>
        )}
      </span>
    </div>
  );
}

function nameOf({ title }: SessionSummary): string {
  return title === "" ? "Another session" : `“${withVisibleControls(title)}”`;
}
