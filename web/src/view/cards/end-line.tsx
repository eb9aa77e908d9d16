// End of a turn, where it is worth a line, and marks between turns.

import { useComputed } from "@preact/signals";
import { TurnState, type TurnEnded } from "../../generated/portico/v1/events_pb";
import type { EndItem, MarkItem } from "../../model/types";
import { lastPrompt, useIsLatest, type CardProps } from "./card";
import { lazy } from "../lazy";
import { CopyButton } from "./copy-button";
import { reportText } from "./error-guide";
import { formatDuration } from "../timeline/duration";

export function EndLine({ item, session, gateway, onNewSession }: CardProps<EndItem>) {
  const { ended } = item;
  const latest = useIsLatest(item, session).value;
  // An error in the turn has a card with the same actions.
  const explained = useComputed(() =>
    session.items.value.some(({ type, turnId }) => type === "error" && turnId === item.turnId),
  ).value;
  if (latest && !explained && session.state.value === TurnState.INTERRUPTED)
    return <Interrupted item={item} session={session} gateway={gateway} />;
  const full = latest && ended.stopReason === "max_tokens";
  return (
    <p class="p-line p-end">
      <i class={`codicon codicon-${iconOf(ended)}`} aria-hidden="true" />
      <span>{endText(ended)}</span>
      {full && (
        <button
          type="button"
          class="p-link-button"
          onClick={() =>
            onNewSession(session.detail.peek()?.summary?.agent ?? "", {
              text: lastPrompt(session),
            })
          }
        >
          New session with this prompt
        </button>
      )}
    </p>
  );
}

function Interrupted({ item, session, gateway }: Pick<CardProps<EndItem>, "item" | "session" | "gateway">) {
  const report = (): string =>
    reportText({
      code: "INTERRUPTED",
      message: `The turn was interrupted at ${item.at.toISOString()}.`,
      agent: session.detail.peek()?.summary?.agent ?? "",
      version: gateway.pageBuild,
      sessionId: session.id,
    });
  return (
    <div class="p-card p-card-warning" role="group" aria-label="Interrupted turn">
      <p class="p-card-title">
        <i class="codicon codicon-debug-pause" aria-hidden="true" />
        <span class="p-card-words">The turn was interrupted</span>
      </p>
      <p class="p-card-about p-soft">
        The conversation is kept. Retry sends the last prompt again; the agent knows what was said before.
      </p>
      <div class="p-card-actions">
        <button type="button" class="p-button p-button-main" onClick={() => void session.retry()}>
          Retry
        </button>
        <button type="button" class="p-button" onClick={() => void session.discard()}>
          Dismiss
        </button>
        <CopyButton label="Copy details" text={report} />
      </div>
    </div>
  );
}

const RestoreUndo = lazy(() => import("../review/restore-undo").then((module) => module.RestoreUndo));

export function MarkLine({ item, session, gateway }: CardProps<MarkItem>) {
  return (
    <p class="p-mark">
      <span>
        {item.text}
        {item.restored && <RestoreUndo item={item} session={session} gateway={gateway} />}
      </span>
    </p>
  );
}

export function endText({ state, stopReason, durationMs }: TurnEnded): string {
  const took = formatDuration(Number(durationMs));
  const how = reasonText(state, stopReason);
  if (how === "") return `Took ${took}`;
  return took === "" ? how : `${how} · ${took}`;
}

function reasonText(state: TurnState, stopReason: string): string {
  if (stopReason === "max_tokens") return "The answer was cut off: token limit reached";
  if (stopReason === "max_turn_requests") return "The agent stopped: step limit reached";
  if (stopReason === "refusal") return "The agent refused to continue";
  if (state === TurnState.CANCELED) return "Stopped";
  return state === TurnState.INTERRUPTED ? "Interrupted" : "";
}

function iconOf({ state, stopReason }: TurnEnded): string {
  if (stopReason === "refusal") return "circle-slash";
  if (state === TurnState.CANCELED) return "debug-stop";
  return state === TurnState.INTERRUPTED ? "debug-disconnect" : "clock";
}
