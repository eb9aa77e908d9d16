// How a turn ended, when that is worth a line; and the quiet marks between turns.

import { TurnState, type TurnEnded } from "../../generated/portico/v1/events_pb";
import type { EndItem, MarkItem } from "../../model/types";
import { lastPrompt, useIsLatest, type CardProps } from "./card";
import { durationWords } from "./duration";

export function EndLine({ item, session, onNewSession }: CardProps<EndItem>) {
    const { ended } = item;
    const latest = useIsLatest(item, session).value;
    if (latest && session.state.value === TurnState.INTERRUPTED) {
        return (
            <div class="p-card p-card-warning" role="group" aria-label="Interrupted turn">
                <p class="p-card-title">
                    <i class="codicon codicon-debug-pause" aria-hidden="true" />
                    <span class="p-card-words">The turn was interrupted</span>
                </p>
                <p class="p-card-about p-soft">
                    What was said until then is kept. The agent can take it up again.
                </p>
                <div class="p-card-actions">
                    <button
                        type="button"
                        class="p-button p-button-main"
                        onClick={() => void session.resume()}
                    >
                        Resume
                    </button>
                    <button type="button" class="p-button" onClick={() => void session.retry()}>
                        Send the prompt again
                    </button>
                    <button type="button" class="p-button" onClick={() => void session.discard()}>
                        Discard
                    </button>
                </div>
            </div>
        );
    }
    const full = latest && ended.stopReason === "max_tokens";
    return (
        <p class="p-line p-end">
            <i class={`codicon codicon-${iconOf(ended)}`} aria-hidden="true" />
            <span>{endWords(ended)}</span>
            {full && (
                <button
                    type="button"
                    class="p-link-button"
                    onClick={() =>
                        onNewSession(session.detail.peek()?.summary?.agent ?? "", {
                            words: lastPrompt(session),
                        })
                    }
                >
                    New session with this prompt
                </button>
            )}
        </p>
    );
}

export function MarkLine({ item }: CardProps<MarkItem>) {
    return (
        <p class="p-mark">
            <span>{item.text}</span>
        </p>
    );
}

export function endWords({ state, stopReason, durationMs }: TurnEnded): string {
    const took = durationWords(Number(durationMs));
    switch (stopReason) {
        case "max_tokens":
            return `The answer ended because there was no room left · ${took}`;
        case "max_turn_requests":
            return `The agent stopped after as many steps as it may take · ${took}`;
        case "refusal":
            return `The agent refused to go on · ${took}`;
        default:
            break;
    }
    if (state === TurnState.CANCELED) return `Stopped after ${took}`;
    if (state === TurnState.INTERRUPTED) return `Interrupted after ${took}`;
    return `Took ${took}`;
}

function iconOf({ state, stopReason }: TurnEnded): string {
    if (stopReason === "refusal") return "circle-slash";
    if (state === TurnState.CANCELED) return "debug-stop";
    return state === TurnState.INTERRUPTED ? "debug-disconnect" : "clock";
}
