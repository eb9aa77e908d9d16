// Pairs of events that may be on different pages: requests with their answers, prompts with the checkpoints before
// their turns.

import type { CheckpointCreated, Event } from "../generated/portico/v1/events_pb";
import type { RequestBuilder } from "./call-builders";
import type { PromptBuilder } from "./review-builders";

interface Answer {
  readonly event: Event;
  readonly value: unknown;
}

export class RequestPairs {
  readonly #requests = new Map<string, RequestBuilder>();
  /** Answers whose question has not been seen. */
  readonly #answers = new Map<string, Answer>();

  add(key: string, builder: RequestBuilder): void {
    this.#requests.set(key, builder);
  }

  settle(key: string, answer: Answer): void {
    const ask = this.#requests.get(key);
    if (ask !== undefined) ask.settle(answer.event, answer.value);
    else if (!this.#answers.has(key)) this.#answers.set(key, answer);
  }

  prepend(older: RequestPairs): void {
    for (const [key, answer] of this.#answers) {
      const ask = older.#requests.get(key);
      if (ask === undefined) continue;
      ask.settle(answer.event, answer.value);
      this.#answers.delete(key);
    }
    for (const [key, answer] of older.#answers) this.#answers.set(key, answer);
    for (const [key, ask] of older.#requests) if (!this.#requests.has(key)) this.#requests.set(key, ask);
  }
}

/** By their turns; a prompt without one has nothing to go back to. */
export class PromptPairs {
  readonly #prompts = new Map<string, PromptBuilder>();
  /** The first one taken before each turn. */
  readonly #checkpoints = new Map<string, CheckpointCreated>();

  add(builder: PromptBuilder): void {
    if (builder.turnId === "") return;
    this.#prompts.set(builder.turnId, builder);
    const checkpoint = this.#checkpoints.get(builder.turnId);
    if (checkpoint !== undefined) builder.setCheckpoint(checkpoint);
  }

  addCheckpoint(turnId: string, checkpoint: CheckpointCreated): void {
    if (turnId === "" || this.#checkpoints.has(turnId)) return;
    this.#checkpoints.set(turnId, checkpoint);
    this.#prompts.get(turnId)?.setCheckpoint(checkpoint);
  }

  prepend(older: PromptPairs): void {
    for (const [turnId, builder] of older.#prompts)
      if (!this.#prompts.has(turnId)) this.#prompts.set(turnId, builder);
    for (const [turnId, checkpoint] of this.#checkpoints) {
      if (!older.#checkpoints.has(turnId)) older.#prompts.get(turnId)?.setCheckpoint(checkpoint);
    }
    for (const [turnId, checkpoint] of older.#checkpoints) {
      this.#checkpoints.set(turnId, checkpoint);
      this.#prompts.get(turnId)?.setCheckpoint(checkpoint);
    }
  }
}
