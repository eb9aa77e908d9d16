// Line at the end of the timeline while the agent works: what it does, for how long, and at what cost.

import { untracked, useComputed } from "@preact/signals";
import { ToolStatus, TurnState } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import { shortTitle } from "../cards/permission-labels";
import { formatMoney } from "../composer/context-meter";
import { Icon } from "./elements";
import { useElapsed } from "./elapsed-time";

export function ProgressLine({ session }: { readonly session: SessionModel }) {
  const words = useComputed(() => progressText(session)).value;
  const turnId = useComputed(() => session.items.value.at(-1)?.turnId);
  const since = useComputed(() => {
    const turn = turnId.value;
    return untracked(
      () => session.items.value.findLast((item) => item.turnId !== turn || item.type === "prompt")?.at,
    );
  }).value;
  const elapsed = useElapsed(words === "" ? undefined : since);
  return (
    <div class="p-working">
      {words !== "" && (
        <>
          <Icon name="loading" spinning />
          <span class="p-working-words" role="status">
            {words}
          </span>
          <span class="p-soft" aria-hidden="true">
            {elapsed}
          </span>
          <Usage session={session} />
          <button type="button" class="p-link-button" onClick={() => void session.stop()}>
            Esc to stop
          </button>
        </>
      )}
    </div>
  );
}

function Usage({ session }: { readonly session: SessionModel }) {
  const { used, cost, currency = "" } = useComputed(() => session.detail.value?.usage).value ?? {};
  const tokens = used === undefined ? "" : `${new Intl.NumberFormat().format(used)} tokens`;
  const money = cost === undefined ? "" : formatMoney(cost, currency);
  const words = [tokens, money].filter((fact) => fact !== "").join(" · ");
  return words === "" ? null : <span class="p-soft">{words}</span>;
}

function progressText(session: SessionModel): string {
  switch (session.state.value) {
    case TurnState.STARTING:
      return "Starting the agent";
    case TurnState.RESUMING:
      return "Resuming the agent";
    case TurnState.RUNNING:
    case TurnState.STREAMING:
      return activity(session);
    case TurnState.UNSPECIFIED:
    case TurnState.IDLE:
    case TurnState.AWAITING:
    case TurnState.COMPLETED:
    case TurnState.CANCELED:
    case TurnState.FAILED:
    case TurnState.INTERRUPTED:
      return "";
  }
}

function activity(session: SessionModel): string {
  const last = session.items.value.at(-1);
  if (last?.type === "answer" && last.open) return "Writing";
  if (last?.type === "thought" && last.open) return "Thinking";
  const runs = last?.type === "tool" && last.status === ToolStatus.IN_PROGRESS;
  return runs ? shortTitle(last.title || last.name, session.detail.peek()?.summary?.workspace) : "Working";
}
