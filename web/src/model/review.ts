// Review of a session's proposals: the open one, its decisions and actions. The state of a proposal comes from the
// events of the session only.

import {
  batch,
  computed,
  effect,
  signal,
  untracked,
  type ReadonlySignal,
  type Signal,
} from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import type { FileContents } from "../generated/portico/v1/agent_pb";
import {
  ProposalStatus,
  type ProposalUpdated,
  type ProposedFile,
  type ProposedHunk,
} from "../generated/portico/v1/events_pb";
import { HunkDecisions } from "./hunk-decisions";
import { ProposalContents } from "./proposal-contents";
import { canDiff } from "./proposal-diff";
import { ProposalProblems } from "./proposal-problems";
import { countOf, ReviewActions } from "./review-actions";
import { decidableFile, selectionOf, type ReviewSelection } from "./review-selection";
import { ReviewStatus } from "./review-status";
import type { SessionModel } from "./types";

const known = new WeakMap<SessionModel, Review>();

/** The one review of a session. */
export function reviewOf(session: SessionModel, gateway: Gateway): Review {
  const review = known.get(session) ?? new Review(session, gateway);
  known.set(session, review);
  return review;
}

export class Review {
  /** The proposal that is looked at. */
  readonly open: Signal<string | undefined> = signal(undefined);
  /** The file that the person wants to see first. */
  readonly wanted: Signal<string | undefined> = signal(undefined);
  readonly actions: ReviewActions;
  readonly status: ReviewStatus;
  readonly problems: ProposalProblems;
  /** Current state of the proposal under review; undefined if there is none. */
  readonly proposal: ReadonlySignal<ProposalUpdated | undefined>;
  readonly selection: ReadonlySignal<ReviewSelection>;
  readonly #session: SessionModel;
  readonly #gateway: Gateway;
  readonly #decisions = new Map<string, HunkDecisions>();
  readonly #contents = new Map<string, ProposalContents>();
  /** Results of calls whose events have not arrived yet. */
  readonly #fetched: Signal<ReadonlyMap<string, ProposalUpdated>> = signal(new Map());
  /** The revisions that decisions were compared with. */
  readonly #settled = new Map<string, number>();

  constructor(session: SessionModel, gateway: Gateway) {
    this.#session = session;
    this.#gateway = gateway;
    this.status = new ReviewStatus(session, gateway);
    this.problems = new ProposalProblems(session.id, gateway);
    this.actions = new ReviewActions({
      session,
      gateway,
      decisionsOf: (proposalId) => this.choicesOf(proposalId),
      selectionOf: (proposal) => this.selectionOf(proposal),
      take: (proposal) => this.#take(proposal),
    });
    this.proposal = computed(() => {
      const id = this.open.value;
      return id === undefined ? undefined : this.find(id);
    });
    this.selection = computed(() => {
      const proposal = this.proposal.value;
      return proposal === undefined ? EMPTY : this.selectionOf(proposal);
    });
    effect(() => {
      const proposal = this.proposal.value;
      if (proposal === undefined) return;
      this.#settle(proposal);
      if (proposal.status === ProposalStatus.OPEN) untracked(() => void this.problems.request(proposal));
    });
  }

  /** The newest that is known of a proposal. */
  find(proposalId: string): ProposalUpdated | undefined {
    const told = this.#latest(proposalId);
    const fetched = this.#fetched.value.get(proposalId);
    return fetched !== undefined && fetched.revision > (told?.revision ?? -1) ? fetched : told;
  }

  choicesOf(proposalId: string): HunkDecisions {
    const decisions =
      this.#decisions.get(proposalId) ??
      new HunkDecisions(this.#gateway.draftStore, `review ${this.#session.id} ${proposalId}`);
    this.#decisions.set(proposalId, decisions);
    return decisions;
  }

  contentsOf({ proposalId, revision }: ProposalUpdated): ProposalContents {
    const before = this.#contents.get(proposalId);
    if (before?.revision === revision) return before;
    const contents = new ProposalContents(revision, (path) => this.#load(proposalId, revision, path));
    this.#contents.set(proposalId, contents);
    return contents;
  }

  /** The hunks of a file, from its full diff once that is here. */
  hunksOf(proposal: ProposalUpdated, file: ProposedFile): readonly ProposedHunk[] {
    return this.contentsOf(proposal).of(file.path).value?.hunks ?? file.hunks;
  }

  selectionOf(proposal: ProposalUpdated): ReviewSelection {
    const decisions = this.choicesOf(proposal.proposalId);
    return selectionOf(proposal.files, decisions, (file) => this.hunksOf(proposal, file));
  }

  /** In the editor where there is one; conflicts, and files that no diff can show, here. */
  show(proposalId: string, path?: string): void {
    if (canDiff(this.find(proposalId), path) && this.#gateway.showReview !== undefined) {
      this.#gateway.showReview(this.#session.id, proposalId, path ?? "");
      return;
    }
    batch(() => {
      this.actions.notice.value = undefined;
      this.wanted.value = path;
      this.open.value = proposalId;
    });
  }

  close(): void {
    this.open.value = undefined;
  }

  #latest(proposalId: string): ProposalUpdated | undefined {
    const inDetail = this.#session.detail.value?.proposals.find((one) => one.proposalId === proposalId);
    const item = this.#session.items.value.findLast(
      (one) => one.type === "proposal" && one.proposal.proposalId === proposalId,
    );
    const inTimeline = item?.type === "proposal" ? item.proposal : undefined;
    if (inDetail === undefined || inTimeline === undefined) return inDetail ?? inTimeline;
    return inDetail.revision > inTimeline.revision ? inDetail : inTimeline;
  }

  #take(proposal: ProposalUpdated | undefined): void {
    if (proposal === undefined) return;
    this.#fetched.value = new Map(this.#fetched.peek()).set(proposal.proposalId, proposal);
  }

  /** Drops decisions about changes that no longer exist, and tells the person. */
  #settle(proposal: ProposalUpdated): void {
    const { proposalId, revision, status, files } = proposal;
    const before = this.#settled.get(proposalId);
    this.#settled.set(proposalId, revision);
    if (status !== ProposalStatus.OPEN) return;
    // A file that was sent in short may have hunks that are not known yet.
    const whole = files.filter((file) => !file.shortened).map((file) => decidableFile(file));
    const shortened = files.filter((file) => file.shortened);
    const decisions = this.choicesOf(proposalId);
    const kept = shortened.map((file) => ({ path: file.path, hunkIds: decisions.idsOf(file.path) }));
    const lost = decisions.keepOnly([...whole, ...kept]);
    if (before === undefined || before >= revision || this.actions.busy.peek() !== undefined) return;
    const words =
      lost === 0 ? "Your decisions are kept." : `${countOf(lost, "decision")} dropped; the others are kept.`;
    this.actions.notify("warning", "The proposal has changed.", words);
  }

  async #load(proposalId: string, revision: number, path: string): Promise<FileContents | undefined> {
    const request = { sessionId: this.#session.id, proposalId, paths: [path] };
    const { proposals, contents } = await this.#gateway.client.getProposal(request);
    const now = proposals.find((one) => one.proposalId === proposalId);
    if (now !== undefined && now.revision > revision) this.#take(now);
    return contents.find((one) => one.path === path);
  }
}

const EMPTY: ReviewSelection = {
  chosen: [],
  rejected: [],
  everything: false,
  counts: { changes: 0, chosen: 0, rejected: 0, files: 0, chosenFiles: 0, undecidedConflicts: 0, denied: 0 },
};
