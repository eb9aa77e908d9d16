// A server in memory that has a proposal, a folder and checkpoints: what is applied is written, what is discarded is gone.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Gateway } from "../src/gateway/gateway";
import {
  AgentSchema,
  ApplyProposalResponseSchema,
  CheckpointSchema,
  ConflictSide,
  DiscardProposalResponseSchema,
  FileConflictSchema,
  FileContentsSchema,
  FinishReviewResponseSchema,
  GetCheckpointDiffResponseSchema,
  GetProposalProblemsResponseSchema,
  GetProposalResponseSchema,
  GetReviewStatusResponseSchema,
  GetRevisionPromptResponseSchema,
  ListAgentsResponseSchema,
  ListCheckpointsResponseSchema,
  ListSessionsResponseSchema,
  RestoreCheckpointResponseSchema,
  ReviewMode,
  SetReviewModeResponseSchema,
  StartSessionResponseSchema,
  UndoApplyResponseSchema,
  WatchSessionsResponseSchema,
  type FileChoiceSchema,
  type SessionDetail,
} from "../src/generated/portico/v1/agent_pb";
import {
  CheckpointMoment,
  ErrorCode,
  ErrorDetailsSchema,
  FileOperation,
  ProposalOrigin,
  ProposalStatus,
  ProposalUpdatedSchema,
  type ProposalUpdated,
  type FileProblemsSchema,
  type ProposedFileSchema,
} from "../src/generated/portico/v1/events_pb";
import { applyEvent } from "../src/model/session-detail";
import { MemoryServer } from "./memory-server";
import { applyHunks, patchOf } from "./patches";

export interface Change {
  readonly path: string;
  readonly old?: string;
  readonly new?: string;
  readonly more?: MessageInitShape<typeof ProposedFileSchema>;
  /** What the person has in the file meanwhile. */
  readonly mine?: string;
}

type Choice = MessageInitShape<typeof FileChoiceSchema>;

export class ReviewServer extends MemoryServer {
  changes: readonly Change[] = [];
  revision = 0;
  problems: MessageInitShape<typeof FileProblemsSchema>[] = [];
  mode = ReviewMode.PROPOSAL;
  possible = [ReviewMode.DIRECT, ReviewMode.PROPOSAL, ReviewMode.BRANCH, ReviewMode.WORKTREE];
  hint = "";
  branch = "";
  readonly prompts: string[] = [];
  readonly written = new Map<string, string | undefined>();
  #applied: { before: readonly Change[]; written: ReadonlyMap<string, string | undefined> } | undefined;

  /** The turn ends with these changes. */
  propose(changes: readonly Change[]): void {
    this.changes = changes;
    this.tell();
  }

  /** Says how the proposal stands, as an event. */
  tell(status = this.changes.length > 0 ? ProposalStatus.OPEN : ProposalStatus.APPLIED): ProposalUpdated {
    this.revision += 1;
    const proposal = this.proposal(status);
    this.write((log) => log.add("proposalUpdated", proposal));
    return proposal;
  }

  proposal(status = ProposalStatus.OPEN): ProposalUpdated {
    return create(ProposalUpdatedSchema, {
      proposalId: "p1",
      revision: this.revision,
      status,
      origin: ProposalOrigin.TURN,
      files: this.changes.map(fileOf),
      canUndo: this.#applied !== undefined,
    });
  }

  override detail(): SessionDetail {
    let detail = super.detail();
    for (const event of this.log.events) detail = applyEvent(detail, event);
    const summary = detail.summary && {
      ...detail.summary,
      workspace: "/w",
      agent: "porter",
      title: "Mend the boats",
      mode: this.mode,
    };
    return summary === undefined ? detail : { ...detail, summary };
  }

  reviewGateway(base: Gateway = this.gateway()): Gateway {
    const note = (method: string, request: unknown): void => void this.calls.push({ method, request });
    const agents = [
      create(AgentSchema, { name: "porter", title: "Porter", installed: true, isDefault: true }),
    ];
    return {
      ...base,
      client: {
        ...base.client,
        listAgents: () => Promise.resolve(create(ListAgentsResponseSchema, { agents })),
        listSessions: () => {
          const { summary } = this.detail();
          return Promise.resolve(create(ListSessionsResponseSchema, { sessions: summary ? [summary] : [] }));
        },
        watchSessions: (_, options) => forever(options?.signal),
        startSession: () => Promise.resolve(create(StartSessionResponseSchema, { session: this.detail() })),
        getProposal: ({ paths = [] }) => {
          note("getProposal", paths);
          const contents = this.changes.filter(({ path }) => paths.includes(path)).map(contentsOf);
          const proposals = this.changes.length > 0 ? [this.proposal()] : [];
          return Promise.resolve(create(GetProposalResponseSchema, { proposals, contents }));
        },
        getProposalProblems: () => {
          const { revision } = this.proposal();
          return Promise.resolve(
            create(GetProposalProblemsResponseSchema, { revision, files: this.problems }),
          );
        },
        applyProposal: (request) => {
          note("applyProposal", request);
          return this.#answer(() => this.#apply(request.revision ?? 0, request.files ?? []));
        },
        discardProposal: (request) => {
          note("discardProposal", request);
          return this.#answer(() => {
            this.#mustBe(request.revision ?? 0);
            this.changes = this.changes.flatMap((change) => without(change, request.files ?? []));
            const status = this.changes.length > 0 ? ProposalStatus.OPEN : ProposalStatus.DISCARDED;
            return create(DiscardProposalResponseSchema, { proposal: this.tell(status) });
          });
        },
        undoApply: () => {
          note("undoApply", {});
          return this.#answer(() => {
            if (this.#applied === undefined)
              return create(UndoApplyResponseSchema, { proposal: this.proposal() });
            this.changes = this.#applied.before;
            for (const path of this.#applied.written.keys()) this.written.delete(path);
            this.#applied = undefined;
            return create(UndoApplyResponseSchema, {
              proposal: this.tell(ProposalStatus.OPEN),
              undone: true,
            });
          });
        },
        getRevisionPrompt: ({ files = [], comment = "" }) => {
          note("getRevisionPrompt", { files, comment });
          return Promise.resolve(
            create(GetRevisionPromptResponseSchema, { text: `Please revise: ${comment}` }),
          );
        },
        listCheckpoints: () => {
          const at = { seconds: BigInt(Math.floor(Date.now() / 1000) - 300), nanos: 0 };
          const moment = CheckpointMoment.BEFORE_TURN;
          const checkpoints = [
            create(CheckpointSchema, { checkpointId: "c1", label: "Mend the boats", at, moment }),
          ];
          return Promise.resolve(create(ListCheckpointsResponseSchema, { checkpoints }));
        },
        getCheckpointDiff: () =>
          Promise.resolve(create(GetCheckpointDiffResponseSchema, { files: this.changes.map(fileOf) })),
        restoreCheckpoint: ({ checkpointId = "" }) => {
          note("restoreCheckpoint", checkpointId);
          const restored = { checkpointId, keptCheckpointId: "c9", files: 2, proposalId: "" };
          this.write((log) => log.add("checkpointRestored", restored));
          return Promise.resolve(create(RestoreCheckpointResponseSchema, { restored }));
        },
        getReviewStatus: () =>
          Promise.resolve(
            create(GetReviewStatusResponseSchema, {
              mode: this.mode,
              branch: this.branch,
              unfinished: this.branch !== "",
              homeBranch: this.branch === "" ? "" : "main",
              possible: this.possible,
              hint: this.hint,
            }),
          ),
        setReviewMode: ({ mode = ReviewMode.DIRECT }) => {
          note("setReviewMode", mode);
          this.mode = mode;
          this.branch = mode === ReviewMode.BRANCH ? "portico/mend-the-boats" : "";
          return Promise.resolve(create(SetReviewModeResponseSchema, { session: this.detail() }));
        },
        finishReview: ({ ending }) => {
          note("finishReview", ending);
          this.branch = "";
          return Promise.resolve(create(FinishReviewResponseSchema, { reference: "portico/mend-the-boats" }));
        },
      },
    };
  }

  async #answer<Answer>(act: () => Answer): Promise<Answer> {
    await Promise.resolve();
    return act();
  }

  #mustBe(revision: number): void {
    if (revision === this.revision) return;
    const value = { code: ErrorCode.INVALID_INPUT, suggestion: "Look at it again.", recoverable: true };
    throw new ConnectError("The proposal is another by now.", Code.FailedPrecondition, undefined, [
      { desc: ErrorDetailsSchema, value },
    ]);
  }

  #apply(revision: number, files: readonly Choice[]) {
    this.#mustBe(revision);
    const chosen = this.changes.filter((change) => choiceOf(change, files) !== undefined);
    const stands = chosen.filter(
      (change) =>
        change.mine !== undefined && (choiceOf(change, files)?.resolve ?? 0) === ConflictSide.UNSPECIFIED,
    );
    if (stands.length > 0) {
      return create(ApplyProposalResponseSchema, { proposal: this.tell(), applied: false });
    }
    const before = this.changes;
    const written = new Map<string, string | undefined>();
    for (const change of chosen) {
      const { hunkIds = [] } = choiceOf(change, files) ?? {};
      written.set(change.path, hunkIds.length === 0 ? change.new : applyHunks(change, hunkIds));
    }
    for (const [path, text] of written) this.written.set(path, text);
    this.changes = this.changes.flatMap((change) => {
      const choice = choiceOf(change, files);
      if (choice === undefined) return [change];
      const now = written.get(change.path);
      return (choice.hunkIds ?? []).length === 0 || now === undefined ? [] : [{ ...change, old: now }];
    });
    this.#applied = { before, written };
    const proposal = this.tell();
    return create(ApplyProposalResponseSchema, { proposal, applied: true });
  }
}

function choiceOf({ path }: Change, files: readonly Choice[]): Choice | undefined {
  return files.length === 0 ? { path } : files.find((choice) => choice.path === path);
}

function without(change: Change, files: readonly Choice[]): readonly Change[] {
  const choice = choiceOf(change, files);
  if (choice === undefined) return [change];
  const rejected = choice.hunkIds ?? [];
  if (rejected.length === 0) return [];
  const kept = patchOf(change).hunks.filter((hunk) => !rejected.includes(hunk.hunkId));
  return [
    {
      ...change,
      new: applyHunks(
        change,
        kept.map(({ hunkId }) => hunkId),
      ),
    },
  ];
}

function operationOf(change: Change): FileOperation {
  if (change.old === undefined) return FileOperation.CREATE;
  return change.new === undefined ? FileOperation.DELETE : FileOperation.UPDATE;
}

function fileOf(change: Change): MessageInitShape<typeof ProposedFileSchema> {
  const { diff, hunks, added, removed } = patchOf(change);
  const conflict = change.mine !== undefined;
  return {
    path: change.path,
    operation: operationOf(change),
    diff,
    hunks,
    added,
    removed,
    conflict,
    ...change.more,
  };
}

function contentsOf(change: Change) {
  const { diff, hunks } = patchOf(change);
  const conflicts =
    change.mine === undefined
      ? []
      : [
          create(FileConflictSchema, {
            line: 2,
            person: change.mine,
            ...(change.new !== undefined && { agent: change.new.split("\n").slice(1, 3).join("\n") }),
          }),
        ];
  return create(FileContentsSchema, {
    path: change.path,
    ...(change.old !== undefined && { oldText: change.old }),
    ...(change.new !== undefined && { newText: change.new }),
    diff,
    hunks,
    conflicts,
  });
}

async function* forever(signal: AbortSignal | undefined) {
  yield create(WatchSessionsResponseSchema, { change: { case: "heartbeat", value: {} } });
  await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
}
