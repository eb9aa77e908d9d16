// Line at the end of the timeline that shows that the agent is working.

import { useComputed } from "@preact/signals";
import { TurnState } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import { Icon } from "./elements";
import { useElapsed } from "./elapsed-time";

export function ProgressLine({ session }: { readonly session: SessionModel }) {
  const words = useComputed(() => progressText(session)).value;
  const since = useComputed(() => session.items.value.at(-1)?.at).value;
  const elapsed = useElapsed(words === "" ? undefined : since);
  return (
    <div class="p-working" role="status">
      {words !== "" && (
        <>
          <Icon name="loading" spinning />
          <span>{words}</span>
          <span class="p-soft" aria-hidden="true">
            {elapsed}
          </span>
        </>
      )}
    </div>
  );
}

function progressText(session: SessionModel): string {
  const last = session.items.value.at(-1);
  const isSpeaking = (last?.type === "answer" || last?.type === "thought") && last.open;
  switch (session.state.value) {
    case TurnState.STARTING:
      return "Starting the agent";
    case TurnState.RESUMING:
      return "Resuming the agent";
    case TurnState.RUNNING:
    case TurnState.STREAMING:
      return isSpeaking ? "" : "Working";
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
