// Builders of proposals, and of prompts with a checkpoint.

import {
  ProposalStatus,
  type CheckpointCreated,
  type Event,
  type ProposalUpdated,
  type ProposedFile,
} from "../generated/portico/v1/events_pb";
import { ItemBuilder } from "./item-builders";
import type { ContentBlock, PromptItem, ProposalItem, ItemBase } from "./types";

/** A proposal stands where the last turn that worked on it ended; what the person does with it moves nothing. */
export class ProposalBuilder extends ItemBuilder<ProposalItem> {
  #proposal: ProposalUpdated;
  #last: Event;
  /** The changes of the proposal when it was last open. */
  #listed: readonly ProposedFile[] | undefined;

  constructor(event: Event, proposal: ProposalUpdated) {
    super(`proposal ${proposal.proposalId}`, event);
    this.#proposal = proposal;
    this.#last = event;
    this.#list(proposal);
  }

  /** Whether a change of the proposal belongs to this place in the timeline. */
  holds(turnId: string): boolean {
    return turnId === "" || turnId === this.turnId;
  }

  update(event: Event, proposal: ProposalUpdated): void {
    this.#proposal = proposal;
    this.#last = event;
    this.#list(proposal);
    this.recordEvent(event);
  }

  /** A newer page continues the same proposal at the same place. */
  continueWith(newer: ProposalBuilder): void {
    const listed = newer.#listed ?? this.#listed;
    this.update(newer.#last, newer.#proposal);
    this.#listed = listed;
  }

  /** The same proposal stood at an earlier place before. */
  follow(older: ProposalBuilder): void {
    if (this.#listed !== undefined) return;
    this.#listed = older.#listed;
    this.changed();
  }

  protected build(base: ItemBase): ProposalItem {
    const { files } = this.#proposal;
    return { ...base, type: "proposal", proposal: this.#proposal, listed: this.#listed ?? files };
  }

  #list({ status, files }: ProposalUpdated): void {
    const isOver = status === ProposalStatus.APPLIED || status === ProposalStatus.DISCARDED;
    if (!isOver) this.#listed = files;
  }
}

export class PromptBuilder extends ItemBuilder<PromptItem> {
  readonly #text: string;
  readonly #blocks: readonly ContentBlock[];
  #checkpoint: CheckpointCreated | undefined;

  constructor(event: Event, text: string, blocks: readonly ContentBlock[]) {
    super(`${event.seq}`, event);
    this.#text = text;
    this.#blocks = blocks;
  }

  /** The folder was kept as it was before this was asked. */
  setCheckpoint(checkpoint: CheckpointCreated): void {
    this.#checkpoint = checkpoint;
    this.changed();
  }

  protected build(base: ItemBase): PromptItem {
    return {
      ...base,
      type: "prompt",
      text: this.#text,
      blocks: this.#blocks,
      ...(this.#checkpoint && { checkpoint: this.#checkpoint }),
    };
  }
}
