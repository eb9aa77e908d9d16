// What comes in two parts that may be on different pages, whichever is loaded first: questions with their
// answers, prompts with the checkpoints taken before their turns.

import type { CheckpointCreated, Event } from "../generated/portico/v1/events_pb";
import type { AskCell } from "./calls";
import type { PromptCell } from "./review-cells";

interface Answer {
  readonly event: Event;
  readonly value: unknown;
}

export class Asks {
  readonly #asked = new Map<string, AskCell>();
  /** Answers whose question has not been seen. */
  readonly #unasked = new Map<string, Answer>();

  ask(key: string, cell: AskCell): void {
    this.#asked.set(key, cell);
  }

  settle(key: string, answer: Answer): void {
    const ask = this.#asked.get(key);
    if (ask !== undefined) ask.settle(answer.event, answer.value);
    else if (!this.#unasked.has(key)) this.#unasked.set(key, answer);
  }

  prepend(older: Asks): void {
    for (const [key, answer] of this.#unasked) {
      const ask = older.#asked.get(key);
      if (ask === undefined) continue;
      ask.settle(answer.event, answer.value);
      this.#unasked.delete(key);
    }
    for (const [key, answer] of older.#unasked) this.#unasked.set(key, answer);
    for (const [key, ask] of older.#asked) if (!this.#asked.has(key)) this.#asked.set(key, ask);
  }
}

/** By their turns; a prompt without one has nothing to go back to. */
export class Prompts {
  readonly #prompts = new Map<string, PromptCell>();
  /** The first one taken before each turn. */
  readonly #checkpoints = new Map<string, CheckpointCreated>();

  add(cell: PromptCell): void {
    if (cell.turnId === "") return;
    this.#prompts.set(cell.turnId, cell);
    const checkpoint = this.#checkpoints.get(cell.turnId);
    if (checkpoint !== undefined) cell.keepWith(checkpoint);
  }

  keep(turnId: string, checkpoint: CheckpointCreated): void {
    if (turnId === "" || this.#checkpoints.has(turnId)) return;
    this.#checkpoints.set(turnId, checkpoint);
    this.#prompts.get(turnId)?.keepWith(checkpoint);
  }

  prepend(older: Prompts): void {
    for (const [turnId, cell] of older.#prompts)
      if (!this.#prompts.has(turnId)) this.#prompts.set(turnId, cell);
    for (const [turnId, checkpoint] of this.#checkpoints) {
      if (!older.#checkpoints.has(turnId)) older.#prompts.get(turnId)?.keepWith(checkpoint);
    }
    for (const [turnId, checkpoint] of older.#checkpoints) {
      this.#checkpoints.set(turnId, checkpoint);
      this.#prompts.get(turnId)?.keepWith(checkpoint);
    }
  }
}
