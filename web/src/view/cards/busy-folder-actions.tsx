// Actions when another session works in the same folder: stop it, queue, use a worktree, or read only.

import { useSignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import { ReviewMode } from "../../generated/portico/v1/agent_pb";
import { failureOf } from "../../model/call-failure";
import type { SessionModel } from "../../model/types";
import { lastPrompt, type OnNewSession } from "./card";
import { stopWriters } from "./folder-writers";
import { FormProblem } from "../form";

interface BusyProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly onNewSession: OnNewSession;
}

export function BusyFolderActions({ session, gateway, onNewSession }: BusyProps) {
  const under = useSignal(false);
  const problem = useSignal("");
  const { workspace = "", agent = "" } = session.detail.value?.summary ?? {};

  const stopOther = async (): Promise<void> => {
    under.value = true;
    problem.value = "";
    try {
      await stopWriters(gateway, workspace, session.id);
      await session.retry();
    } catch (reason) {
      problem.value = failureOf(reason).message;
    } finally {
      under.value = false;
    }
  };
  return (
    <>
      <div class="p-card-actions">
        <button type="button" class="p-button" disabled={under.value} onClick={() => void stopOther()}>
          Stop the other session
        </button>
        <button
          type="button"
          class="p-button p-button-main"
          disabled={under.value}
          onClick={() => void session.retry()}
        >
          Queue
        </button>
        <button
          type="button"
          class="p-button"
          disabled={under.value}
          onClick={() => onNewSession(agent, { text: lastPrompt(session), mode: ReviewMode.WORKTREE })}
        >
          New session in a worktree
        </button>
        <button
          type="button"
          class="p-button"
          disabled={under.value}
          onClick={() => onNewSession(agent, { text: lastPrompt(session), readsOnly: true })}
        >
          New read-only session
        </button>
      </div>
      <FormProblem text={problem.value} />
    </>
  );
}
