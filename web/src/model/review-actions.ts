// Actions on a proposal: apply, discard, undo, revise. One at a time; a notice reports the outcome.

import { batch, signal, type Signal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import type { ProposalUpdated } from "../generated/portico/v1/events_pb";
import { failureOf } from "./call-failure";
import { decideAll, type HunkDecisions, type DecisionMap } from "./hunk-decisions";
import { decidableFile, type FileChoice, type ReviewSelection } from "./review-selection";
import type { SessionModel } from "./types";

/** A notice about the last action, or about changes that came meanwhile. */
export interface ReviewNotice {
  readonly tone: "good" | "warning" | "bad";
  readonly text: string;
  readonly more?: string;
  /** The action that the notice is about. */
  readonly action?: ReviewAction;
}

export type ReviewAction = "apply" | "discard" | "undo" | "revise";

export interface ReviewActionPorts {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  decisionsOf(proposalId: string): HunkDecisions;
  selectionOf(proposal: ProposalUpdated): ReviewSelection;
  /** Receives the result of a call before its event arrives. */
  take(proposal: ProposalUpdated | undefined): void;
}

export class ReviewActions {
  readonly notice: Signal<ReviewNotice | undefined> = signal(undefined);
  readonly busy: Signal<ReviewAction | undefined> = signal(undefined);
  readonly #ports: ReviewActionPorts;
  /** Decisions before the last apply, restored by an undo. */
  readonly #before = new Map<string, DecisionMap>();
  #last: string | undefined;

  constructor(ports: ReviewActionPorts) {
    this.#ports = ports;
  }

  /** The proposal that something was last done with. */
  get last(): string | undefined {
    return this.#last;
  }

  notify(tone: ReviewNotice["tone"], text: string, more = "", action?: ReviewAction): void {
    this.notice.value = { tone, text, ...(more !== "" && { more }), ...(action && { action }) };
  }

  /** Writes what is chosen to the files; true if it was written. */
  async apply(proposal: ProposalUpdated): Promise<boolean> {
    const { client } = this.#ports.gateway;
    const { chosen, rejected, everything } = this.#ports.selectionOf(proposal);
    // No files at all would mean every file.
    if (chosen.length === 0 && !everything) {
      this.notify("warning", "Nothing selected, so nothing was applied.");
      return false;
    }
    const decisions = this.#ports.decisionsOf(proposal.proposalId);
    const before = decisions.decided.peek();
    const done = await this.#act("apply", proposal, () =>
      client.applyProposal({ ...this.#named(proposal), files: [...chosen] }),
    );
    if (done === undefined) return false;
    this.#ports.take(done.proposal);
    if (!done.applied) {
      this.notify("warning", "Not applied: files have changed.", "Resolve the conflicts, then apply again.");
      return false;
    }
    this.#before.set(proposal.proposalId, before);
    // The remaining changes are the rejected ones, under other names.
    if (done.proposal !== undefined) decisions.begin(stillRejected(done.proposal, rejected));
    const count = chosen.length === 0 ? proposal.files.length + proposal.unlisted : chosen.length;
    this.notify("good", `Applied ${countOf(count, "file")}.`, mergedText(done.merged), "apply");
    return true;
  }

  /** Takes files or parts of them out of the proposal; without any, all of it. */
  async discard(proposal: ProposalUpdated, files: readonly FileChoice[]): Promise<boolean> {
    const { client } = this.#ports.gateway;
    const done = await this.#act("discard", proposal, () =>
      client.discardProposal({ ...this.#named(proposal), files: [...files] }),
    );
    if (done === undefined) return false;
    this.#ports.take(done.proposal);
    this.notify("good", files.length === 0 ? "Proposal discarded." : "Rejected changes discarded.");
    return true;
  }

  /** Takes the last apply back, and with it the decisions that led to it. */
  async undo(proposal: ProposalUpdated): Promise<boolean> {
    const { session, gateway } = this.#ports;
    const { proposalId } = proposal;
    const done = await this.#act("undo", proposal, () =>
      gateway.client.undoApply({ sessionId: session.id, proposalId }),
    );
    if (done === undefined) return false;
    this.#ports.take(done.proposal);
    if (!done.undone) {
      const text = "Not undone: the applied lines have been edited since.";
      this.notify("warning", text, "Undo your edits to those lines first.");
      return false;
    }
    const before = this.#before.get(proposalId);
    if (before !== undefined) this.#ports.decisionsOf(proposalId).begin(before);
    this.#before.delete(proposalId);
    this.notify("good", "Last apply undone.");
    return true;
  }

  /** Sends the agent what is rejected, or all of it, with the person's comment. */
  async revise(proposal: ProposalUpdated): Promise<boolean> {
    const { session, gateway } = this.#ports;
    const { comment } = this.#ports.decisionsOf(proposal.proposalId);
    const files = [...this.#ports.selectionOf(proposal).rejected];
    const request = { ...this.#named(proposal), files, comment: comment.peek() };
    const asked = await this.#act("revise", proposal, async () => {
      const { text } = await gateway.client.getRevisionPrompt(request);
      return await session.send({ text, attachments: [] });
    });
    if (asked !== true) return false;
    comment.value = "";
    this.notify("good", "Asked the agent to revise.");
    return true;
  }

  #named({ proposalId, revision }: ProposalUpdated) {
    return { sessionId: this.#ports.session.id, proposalId, revision };
  }

  /** Reports a refusal that was caused by a newer revision of the proposal. */
  async #act<Done>(
    action: ReviewAction,
    proposal: ProposalUpdated,
    act: () => Promise<Done>,
  ): Promise<Done | undefined> {
    if (this.busy.peek() !== undefined) return undefined;
    this.#last = proposal.proposalId;
    batch(() => {
      this.busy.value = action;
      this.notice.value = undefined;
    });
    try {
      return await act();
    } catch (reason) {
      const { message, suggestion } = failureOf(reason);
      if (await this.#isStale(proposal)) {
        const text = "The proposal has changed, so nothing was done.";
        this.notify("warning", text, "Your decisions are kept. Review again.");
      } else {
        this.notify("bad", message, suggestion);
      }
      return undefined;
    } finally {
      this.busy.value = undefined;
    }
  }

  async #isStale({ proposalId, revision }: ProposalUpdated): Promise<boolean> {
    const { session, gateway } = this.#ports;
    try {
      const { proposals } = await gateway.client.getProposal({ sessionId: session.id, proposalId });
      this.#ports.take(proposals[0]);
      return proposals[0] !== undefined && proposals[0].revision !== revision;
    } catch {
      return false;
    }
  }
}

/** The remaining changes of files with rejected parts. */
function stillRejected({ files }: ProposalUpdated, rejected: readonly FileChoice[]): DecisionMap {
  const paths = new Set(rejected.map((choice) => choice.path));
  return decideAll(
    files.filter((file) => paths.has(file.path)).map((file) => decidableFile(file)),
    false,
  );
}

/** "1 file", "3 files". */
export function countOf(count: number, thing: string): string {
  return `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;
}

function mergedText(merged: readonly string[]): string {
  if (merged.length === 0) return "";
  const [first = ""] = merged;
  return `Your own changes in ${merged.length === 1 ? first : countOf(merged.length, "file")} were kept.`;
}
