// End of a turn, where it is worth a line, and marks between turns.

import { useComputed } from "@preact/signals";
import { TurnState, type TurnEnded } from "../../generated/portico/v1/events_pb";
import type { EndItem, MarkItem } from "../../model/types";
import { lastPrompt, useIsLatest, type CardProps } from "./card";
import { formatDuration } from "../timeline/duration";

export function EndLine({ item, session, onNewSession }: CardProps<EndItem>) {
  const { ended } = item;
  const latest = useIsLatest(item, session).value;
  if (latest && session.state.value === TurnState.INTERRUPTED)
    return <Interrupted item={item} session={session} />;
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

/** The end of a turn that lost its agent. An error in the turn has the details. */
function Interrupted({ item, session }: Pick<CardProps<EndItem>, "item" | "session">) {
  const explained = useComputed(() =>
    session.items.value.some(({ type, turnId }) => type === "error" && turnId === item.turnId),
  ).value;
  return (
    <div class="p-card p-card-warning" role="group" aria-label="Interrupted turn">
      <p class="p-card-title">
        <i class="codicon codicon-debug-pause" aria-hidden="true" />
        <span class="p-card-words">The turn was interrupted</span>
      </p>
      {!explained && <p class="p-card-about p-soft">The conversation is kept. The agent can continue.</p>}
      <div class="p-card-actions">
        <button type="button" class={mainUnless(explained)} onClick={() => void session.resume()}>
          Resume
        </button>
        {!explained && (
          <button type="button" class="p-button" onClick={() => void session.retry()}>
            Resend prompt
          </button>
        )}
        <button type="button" class="p-button" onClick={() => void session.discard()}>
          Discard
        </button>
      </div>
    </div>
  );
}

function mainUnless(other: boolean): string {
  return other ? "p-button" : "p-button p-button-main";
}

export function MarkLine({ item }: CardProps<MarkItem>) {
  return (
    <p class="p-mark">
      <span>{item.text}</span>
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
