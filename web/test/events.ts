// Logs for tests: a small language for writing one, and a seeded author of long random ones.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  CheckpointMoment,
  EventSchema,
  PermissionOutcome,
  ProposalStatus,
  QuestionAction,
  ToolKind,
  ToolStatus,
  TurnState,
  type Event,
} from "../src/generated/portico/v1/events_pb";

type Payload = NonNullable<MessageInitShape<typeof EventSchema>["payload"]>;
type Filled = Extract<Payload, { value: unknown }>;
export type PayloadCase = Filled["case"];
export type PayloadValue<Case extends PayloadCase> = Extract<Filled, { case: Case }>["value"];

/** An append-only log, numbered from one, one tenth of a second between two events. */
export class Log {
  readonly events: Event[] = [];
  turnId = "";

  constructor(readonly sessionId = "s1") {}

  get lastSeq(): number {
    return this.events.length;
  }

  add<Case extends PayloadCase>(kind: Case, value: PayloadValue<Case>): this {
    const seq = this.events.length + 1;
    const milliseconds = 1_700_000_000_000 + seq * 100;
    const at = { seconds: BigInt(Math.floor(milliseconds / 1000)), nanos: (milliseconds % 1000) * 1e6 };
    const payload = { case: kind, value } as Filled;
    this.events.push(
      create(EventSchema, { sessionId: this.sessionId, seq: BigInt(seq), turnId: this.turnId, at, payload }),
    );
    return this;
  }

  start(continued = false): this {
    return this.add("sessionStarted", { workspace: "/w", agent: "porter", continued });
  }

  prompt(text: string): this {
    this.turnId = `t${this.lastSeq + 1}`;
    return this.add("promptSubmitted", { text }).add("stateChanged", { state: TurnState.RUNNING });
  }

  text(text: string, messageId = ""): this {
    return this.add("textDelta", { text, messageId });
  }

  think(text: string, messageId = ""): this {
    return this.add("thinking", { text, messageId });
  }

  end(state = TurnState.COMPLETED, stopReason = "end_turn"): this {
    this.add("turnEnded", { state, stopReason, durationMs: 1000n }).add("stateChanged", { state });
    this.turnId = "";
    return this;
  }
}

/** A number from 0 up to 1, the same row each time for a seed. */
export type Chance = () => number;

export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function whole(chance: Chance, below: number): number {
  return Math.floor(chance() * below);
}

function one<Choice>(chance: Chance, choices: readonly [Choice, ...Choice[]]): Choice {
  return choices[whole(chance, choices.length)] ?? choices[0];
}

/** A log of at least so many events, with everything in it that an agent may do, in any order. */
export function randomLog(chance: Chance, size: number): Log {
  const log = new Log().start();
  const ids = ["a", "b", "c"] as const;
  while (log.lastSeq < size) {
    if (chance() < 0.3) log.start(true);
    if (chance() < 0.4) log.add("proposalUpdated", { proposalId: one(chance, ids), revision: log.lastSeq });
    if (chance() < 0.2) log.add("titleUpdated", { title: `title ${log.lastSeq}` });
    log.prompt(`prompt ${log.lastSeq}`);
    for (let left = whole(chance, 40); left > 0; left--) anything(log, chance, one(chance, ids));
    log.end(...one(chance, ENDINGS));
  }
  return log;
}

/** A log of at least so many events, as an ordinary day makes them. */
export function typicalLog(size: number): Log {
  const log = new Log().start();
  while (log.lastSeq < size) {
    log.prompt("Please look at the tests.").think("They may ").think("be slow.");
    for (const toolId of ["a", "b", "c"]) {
      log.add("toolStarted", { toolId, title: "Run the tests", toolKind: ToolKind.EXECUTE });
      for (let line = 0; line < 4; line++) {
        log.add("toolUpdated", { toolId, terminal: { terminalId: toolId, text: `line ${line}\n` } });
      }
      log.add("toolCompleted", { toolId, success: true, durationMs: 400n });
    }
    for (let delta = 0; delta < 40; delta++) log.text("a few words of the answer ", "m");
    log.end();
  }
  return log;
}

type Ending = readonly [TurnState, string];

const ENDINGS: readonly [Ending, ...Ending[]] = [
  [TurnState.COMPLETED, "end_turn"],
  [TurnState.COMPLETED, "end_turn"],
  [TurnState.COMPLETED, "max_tokens"],
  [TurnState.CANCELED, "cancelled"],
  [TurnState.INTERRUPTED, "interrupted"],
];

function anything(log: Log, chance: Chance, id: string): void {
  const seq = log.lastSeq;
  const acts: readonly [() => unknown, ...(() => unknown)[]] = [
    () => log.text(`text ${seq} `),
    () => log.text(`text ${seq} `, one(chance, ["m1", "m2"])),
    () => log.think(`thought ${seq} `),
    () =>
      log.add("textDelta", {
        text: "",
        blockJson: `{"type":"image","data":"${seq}","mimeType":"image/png"}`,
      }),
    () =>
      log.add("toolStarted", {
        toolId: id,
        title: `tool ${seq}`,
        toolKind: ToolKind.READ,
        status: ToolStatus.PENDING,
      }),
    () => log.add("toolUpdated", { toolId: id, status: ToolStatus.IN_PROGRESS, title: `doing ${seq}` }),
    () => log.add("toolUpdated", { toolId: id, terminal: { terminalId: id, text: `line ${seq}\n` } }),
    () => log.add("toolCompleted", { toolId: id, success: chance() < 0.5, durationMs: BigInt(seq) }),
    () => log.add("planUpdated", { entries: [{ content: `step ${seq}` }] }),
    () => log.add("permissionRequested", { requestId: id, toolId: id, title: `may I ${seq}` }),
    () =>
      log.add("permissionResolved", { requestId: id, outcome: PermissionOutcome.ALLOWED, rule: `${seq}` }),
    () => log.add("questionAsked", { requestId: id, message: `what ${seq}` }),
    () =>
      log.add("questionAnswered", { requestId: id, action: QuestionAction.ACCEPT, contentJson: `${seq}` }),
    () =>
      log.add("proposalUpdated", {
        proposalId: id,
        revision: seq,
        status: one(chance, [ProposalStatus.OPEN, ProposalStatus.APPLIED]),
        files: [{ path: `${seq}` }],
      }),
    () => log.add("checkpointCreated", { checkpointId: `${seq}`, moment: CheckpointMoment.BEFORE_TURN }),
    () => log.add("checkpointRestored", { checkpointId: `${seq}`, files: 2 }),
    () => log.add("usageUpdated", { used: BigInt(seq) }),
    () => log.add("notice", { text: `notice ${seq}` }),
    () => log.add("error", { message: `error ${seq}`, recoverable: true }),
    () => log.add("todosUpdated", { todos: [{ todoId: id, content: `todo ${seq}` }] }),
  ];
  one(chance, acts)();
}
