// The cards of the board, live. The order of a group stays as it is while cards change, so that nothing moves under
// the pointer; new ones come last.

import { signal, type ReadonlySignal } from "@preact/signals";
import { browserEnvironment, type Cancel, type Environment } from "../../gateway/environment";
import type { Gateway } from "../../gateway/gateway";
import { BoardGroup, type BoardCard } from "../../generated/portico/v1/agent_pb";
import { failureOf } from "../../model/call-failure";
import { FrameScheduler } from "../../model/frame-scheduler";
import { Reconnector, type StreamAttempt } from "../../model/reconnector";

/** After cards have moved, they can be answered once they stood still for this long. */
export const SETTLE = 400;

export class BoardModel {
  readonly problem = signal("");
  /** Whether the cards stood still long enough for a click to mean what is under it. */
  readonly settled = signal(false);
  readonly #cards = signal<readonly BoardCard[]>([]);
  readonly #gateway: Gateway;
  readonly #environment: Environment;
  readonly #reconnector: Reconnector;
  readonly #frames: FrameScheduler;
  #next = new Map<string, BoardCard>();
  #settling: Cancel = () => undefined;

  constructor(gateway: Gateway, environment: Environment = browserEnvironment) {
    this.#gateway = gateway;
    this.#environment = environment;
    this.#frames = new FrameScheduler(environment, () => this.#show());
    this.#reconnector = new Reconnector(gateway, environment, {
      run: (attempt) => this.#watch(attempt),
      ended: () => false,
    });
  }

  get cards(): ReadonlySignal<readonly BoardCard[]> {
    return this.#cards;
  }

  open(): () => void {
    this.#reconnector.wake();
    return () => {
      this.#reconnector.pause();
      this.#settling();
    };
  }

  /** Answers a permission request of a card, unless the cards have just moved. */
  async answer(card: BoardCard, requestId: string, optionId: string): Promise<void> {
    if (!this.settled.peek()) return;
    try {
      await this.#gateway.client.submitClientEvent({
        sessionId: card.summary?.sessionId ?? "",
        event: { case: "permissionDecisions", value: { decisions: [{ requestId, optionId }] } },
      });
      this.problem.value = "";
    } catch (reason) {
      this.problem.value = failureOf(reason).message;
    }
  }

  async #watch(attempt: StreamAttempt): Promise<void> {
    this.#next = new Map();
    for await (const { change } of this.#gateway.client.watchBoard({}, { signal: attempt.signal })) {
      if (attempt.signal.aborted) return;
      attempt.received();
      if (change.case === "changed") this.#next.set(change.value.summary?.sessionId ?? "", change.value);
      else if (change.case === "removedSessionId") this.#next.delete(change.value);
      else continue;
      this.#frames.request();
    }
  }

  #show(): void {
    const before = new Map(this.#cards.peek().map((card) => [card.summary?.sessionId ?? "", card]));
    const cards = [...this.#next.values()];
    const asks = (card: BoardCard | undefined): string => card?.permissions[0]?.requestId ?? "";
    const stays = cards.every((card) => {
      const earlier = before.get(card.summary?.sessionId ?? "");
      return earlier?.group === card.group && asks(earlier) === asks(card);
    });
    if (!stays || cards.length !== before.size) {
      this.#settling();
      this.settled.value = false;
      this.#settling = this.#environment.after(SETTLE, () => (this.settled.value = true));
    }
    this.#cards.value = cards;
  }
}

export const GROUPS: readonly (readonly [BoardGroup, string, string])[] = [
  [BoardGroup.ASKING, "Waiting for you", "asking"],
  [BoardGroup.WORKING, "Working", "working"],
  [BoardGroup.TO_REVIEW, "To review", "to-review"],
  [BoardGroup.DONE, "Done", "done"],
];
