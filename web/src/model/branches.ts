// Versions of the prompts of a session that were edited, each in a session of its own.

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import type { BranchPoint } from "../generated/portico/v1/agent_pb";
import { failureOf } from "./call-failure";
import type { Failure, PromptItem, SessionModel } from "./types";

const known = new WeakMap<SessionModel, Branches>();

/** The branches of a session, which are asked for once. */
export function branchesOf(session: SessionModel, gateway: Gateway): Branches {
  let branches = known.get(session);
  if (branches === undefined) {
    branches = new Branches(session, gateway);
    known.set(session, branches);
    void branches.load();
  }
  return branches;
}

export class Branches {
  readonly #session: SessionModel;
  readonly #gateway: Gateway;
  readonly #points: Signal<readonly BranchPoint[]> = signal([]);

  constructor(session: SessionModel, gateway: Gateway) {
    this.#session = session;
    this.#gateway = gateway;
  }

  get points(): ReadonlySignal<readonly BranchPoint[]> {
    return this.#points;
  }

  /** Without an answer the prompts have no other versions; the next visit asks again. */
  async load(): Promise<void> {
    try {
      const { points } = await this.#gateway.client.listBranches({ sessionId: this.#session.id });
      this.#points.value = points;
    } catch {
      known.delete(this.#session);
    }
  }

  /** Sends another text in place of a prompt. The id of the session that has it. */
  async edit(
    item: PromptItem,
    text: string,
    checkpointId: string,
  ): Promise<{ readonly id: string } | Failure> {
    try {
      const { session } = await this.#gateway.client.editPrompt({
        sessionId: this.#session.id,
        seq: BigInt(item.firstSeq),
        text,
        checkpointId,
      });
      void this.load();
      return { id: session?.summary?.sessionId ?? "" };
    } catch (reason) {
      return failureOf(reason);
    }
  }
}

/** The point at which a prompt was edited. */
export function pointAt(points: readonly BranchPoint[], item: PromptItem): BranchPoint | undefined {
  return points.find(({ versions, current }) => Number(versions[current]?.seq) === item.firstSeq);
}
