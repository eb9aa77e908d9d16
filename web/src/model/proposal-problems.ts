// Problems that the open proposal adds and removes, asked for once per revision.

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import type { FileProblems, ProposalUpdated } from "../generated/portico/v1/events_pb";

export class ProposalProblems {
  readonly #files: Signal<readonly FileProblems[]> = signal([]);
  #asked = "";

  constructor(
    readonly sessionId: string,
    readonly gateway: Gateway,
  ) {}

  /** Files with a difference, of the proposal that was asked about last. */
  get files(): ReadonlySignal<readonly FileProblems[]> {
    return this.#files;
  }

  of(path: string): FileProblems | undefined {
    return this.#files.value.find((file) => file.path === path);
  }

  /** A check that fails shows nothing: the review does not depend on it. */
  async request({ proposalId, revision }: ProposalUpdated): Promise<void> {
    const asked = `${proposalId} ${revision}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#files.value = [];
    try {
      const request = { sessionId: this.sessionId, proposalId };
      const found = await this.gateway.client.getProposalProblems(request);
      if (this.#asked === asked && found.revision === revision)
        this.#files.value = found.files.filter(({ added, removed }) => added.length + removed.length > 0);
    } catch {
      if (this.#asked === asked) this.#asked = "";
    }
  }
}
