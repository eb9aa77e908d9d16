// Review mode of a session, finishing its branch, and its checkpoints.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import {
  ReviewMode,
  type Checkpoint,
  type GetCheckpointDiffResponse,
  type GetReviewStatusResponse,
  type ReviewEnding,
} from "../generated/portico/v1/agent_pb";
import type { ProposalUpdated } from "../generated/portico/v1/events_pb";
import { failureOf, isLost } from "./call-failure";
import type { Failure, SessionModel } from "./types";

export class ReviewStatus {
  readonly #session: SessionModel;
  readonly #gateway: Gateway;
  readonly #latest: Signal<GetReviewStatusResponse | undefined> = signal(undefined);
  readonly mode: ReadonlySignal<ReviewMode>;
  readonly busy: Signal<boolean> = signal(false);
  /** The result of the last finish. */
  readonly ended: Signal<string> = signal("");

  constructor(session: SessionModel, gateway: Gateway) {
    this.#session = session;
    this.#gateway = gateway;
    this.mode = computed(() => session.detail.value?.summary?.mode || ReviewMode.DIRECT);
  }

  get latest(): ReadonlySignal<GetReviewStatusResponse | undefined> {
    return this.#latest;
  }

  /** Reads the review status. The connection reports that the server is away. */
  async refresh(): Promise<void> {
    try {
      this.#latest.value = await this.#gateway.client.getReviewStatus({ sessionId: this.#session.id });
    } catch (reason) {
      if (!isLost(reason)) this.#latest.value = undefined;
    }
  }

  async setMode(mode: ReviewMode): Promise<void> {
    await this.#session.setMode(mode);
    await this.refresh();
  }

  /** Ends the work on a branch or in a worktree; true if it is ended. */
  async finish(ending: ReviewEnding, words: (reference: string) => string): Promise<boolean> {
    this.busy.value = true;
    try {
      const { reference } = await this.#gateway.client.finishReview({ sessionId: this.#session.id, ending });
      this.ended.value = words(reference);
      await this.refresh();
      return true;
    } catch (reason) {
      this.#session.failure.value = failureOf(reason);
      return false;
    } finally {
      this.busy.value = false;
    }
  }

  /** Newest first. */
  async checkpoints(): Promise<readonly Checkpoint[] | Failure> {
    return await this.#ask(async () => {
      const { checkpoints } = await this.#gateway.client.listCheckpoints({ sessionId: this.#session.id });
      return checkpoints;
    });
  }

  /** Changes in the folder since a checkpoint. */
  async changesSince(checkpointId: string): Promise<GetCheckpointDiffResponse | Failure> {
    return await this.#ask(() =>
      this.#gateway.client.getCheckpointDiff({ sessionId: this.#session.id, checkpointId }),
    );
  }

  /** Makes the folder what it was. The proposal with the person's own edits, if there were any. */
  async restore(checkpointId: string): Promise<{ readonly proposal?: ProposalUpdated } | Failure> {
    return await this.#ask(async () => {
      const { proposal } = await this.#gateway.client.restoreCheckpoint({
        sessionId: this.#session.id,
        checkpointId,
      });
      return proposal === undefined ? {} : { proposal };
    });
  }

  async #ask<Answer extends object>(call: () => Promise<Answer>): Promise<Answer | Failure> {
    try {
      return await call();
    } catch (reason) {
      return failureOf(reason);
    }
  }
}

/** Whether an answer is the failure to get one. */
export function isFailure(answer: object): answer is Failure {
  return "recoverable" in answer;
}
