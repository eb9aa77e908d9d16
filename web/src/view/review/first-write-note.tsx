// Question above the composer when an agent is about to write for the first time: how changes reach the files.

import { effect, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { ReviewMode } from "../../generated/portico/v1/agent_pb";
import { ToolKind } from "../../generated/portico/v1/events_pb";
import { failureOf } from "../../model/call-failure";
import { reviewOf } from "../../model/review";
import type { SessionModel } from "../../model/types";
import { isActive } from "../cards/card";
import { modeLabel } from "./review-labels";

interface FirstWriteNoteProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
}

const WRITES: ReadonlySet<ToolKind> = new Set([ToolKind.EDIT, ToolKind.DELETE, ToolKind.MOVE]);
/** Sessions whose person has chosen. */
const decided = new WeakSet<SessionModel>();

export function FirstWriteNote({ session, gateway }: FirstWriteNoteProps) {
  const { status } = reviewOf(session, gateway);
  const isChosen = useSignal(decided.has(session));
  const remember = useSignal(false);
  const writes = useComputed(
    () => session.detail.value?.permissions.some(({ toolKind }) => WRITES.has(toolKind)) === true,
  );
  const isFirst = useComputed(() => session.items.value.filter(({ type }) => type === "prompt").length === 1);
  const isDirect = status.mode.value === ReviewMode.DIRECT;
  const asks = !isChosen.value && isDirect && isFirst.value && writes.value;
  useEffect(() => {
    if (asks) void status.refresh();
  }, [status, asks]);
  const latest = status.latest.value;
  if (!asks || latest === undefined || latest.inSettings) return null;
  const choose = async (mode: ReviewMode): Promise<void> => {
    decided.add(session);
    isChosen.value = true;
    try {
      if (remember.peek()) await saveMode(gateway, mode);
      if (mode !== ReviewMode.DIRECT) await startAgain(session, () => status.setMode(mode));
    } catch (reason) {
      session.failure.value = failureOf(reason);
    }
  };
  const initialize = async (): Promise<void> => {
    try {
      await gateway.client.initializeRepository({ sessionId: session.id });
      await status.refresh();
    } catch (reason) {
      session.failure.value = failureOf(reason);
    }
  };
  const { hasRepository, possible } = latest;
  return (
    <Note>
      <span>
        {hasRepository
          ? "First change in this session. How should changes reach your files?"
          : "First change in this session, and the folder is not in a git repository."}
      </span>
      <span class="p-folder-ways">
        {hasRepository ? (
          <>
            <Way label="Directly" act={() => void choose(ReviewMode.DIRECT)} />
            {possible.includes(ReviewMode.BRANCH) && (
              <Way label="On a branch" act={() => void choose(ReviewMode.BRANCH)} />
            )}
          </>
        ) : (
          <Way label="Initialise git" act={() => void initialize()} />
        )}
        <Way
          label={hasRepository ? "As a proposal" : "Use proposals"}
          act={() => void choose(ReviewMode.PROPOSAL)}
        />
        <label class="p-first-write-keep">
          <input
            type="checkbox"
            checked={remember.value}
            onChange={({ currentTarget }) => (remember.value = currentTarget.checked)}
          />
          Remember
        </label>
      </span>
    </Note>
  );
}

/** A mode holds from the beginning of a turn, so the turn is stopped, and its prompt sent again. */
async function startAgain(session: SessionModel, change: () => Promise<void>): Promise<void> {
  await session.stop();
  await new Promise<void>((stopped) => {
    const end = effect(() => {
      if (!isActive(session.state.value))
        queueMicrotask(() => {
          end();
          stopped();
        });
    });
  });
  await change();
  await session.retry();
}

async function saveMode({ client }: Gateway, mode: ReviewMode): Promise<void> {
  const valueJson = JSON.stringify(modeLabel(mode).value);
  await client.setSettings({ settings: [{ name: "review.mode", valueJson }] });
}

function Note({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="p-note p-folder-note" role="group" aria-label="First change">
      <i class="codicon codicon-git-branch" aria-hidden="true" />
      {children}
    </div>
  );
}

function Way({ label, act }: { readonly label: string; readonly act: () => void }) {
  return (
    <button type="button" class="p-link-button" onClick={act}>
      {label}
    </button>
  );
}
