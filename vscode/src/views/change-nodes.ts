// The entries of the changes view.

import type { Checkpoint } from "../../../web/src/generated/portico/v1/agent_pb";
import type { ProposalUpdated, ProposedFile } from "../../../web/src/generated/portico/v1/events_pb";

export class ProposalNode {
  constructor(
    readonly sessionId: string,
    readonly proposal: ProposalUpdated,
  ) {}
}

export class FileNode {
  constructor(
    readonly sessionId: string,
    readonly proposal: ProposalUpdated,
    readonly file: ProposedFile,
  ) {}
}

export class CheckpointNode {
  constructor(
    readonly sessionId: string,
    readonly checkpoint: Checkpoint,
  ) {}
}

/** The checkpoints under one roof: they are many, and seldom looked at. */
export class CheckpointsNode {
  constructor(readonly sessionId: string) {}
}

export type ChangeNode = ProposalNode | FileNode | CheckpointsNode | CheckpointNode;
