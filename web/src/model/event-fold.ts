// Folds consecutive events of a session into items, and joins the fold of an older page. The result does not depend on
// how the log was split into pages: what crosses the edge of a page is kept for the join, such as the run at each end,
// tool calls without a start, answers without a request, and ends of turns.

import type {
  CheckpointRestored,
  Event,
  ProposalUpdated,
  SessionStarted,
  TextDelta,
  Thinking,
  TurnEnded,
} from "../generated/portico/v1/events_pb";
import { CheckpointMoment, TurnState } from "../generated/portico/v1/events_pb";
import {
  PermissionBuilder,
  QuestionBuilder,
  ToolBuilder,
  type RequestBuilder,
  type CallBuilder,
} from "./call-builders";
import {
  MarkBuilder,
  PlanBuilder,
  RunBuilder,
  EventItemBuilder,
  SpeechBuilder,
  timeOf,
  type ItemBuilder,
} from "./item-builders";
import { parseContentBlock } from "./content-block";
import { RequestPairs, PromptPairs } from "./event-pairs";
import { PromptBuilder, ProposalBuilder } from "./review-builders";
import type { Item, ItemBase } from "./types";

/** A turn that took longer says so when it ends. */
const LONG_TURN_MS = 60_000;
const CUT_SHORT = new Set(["max_tokens", "max_turn_requests", "refusal"]);

export class EventFold {
  /** In the order of their first events. */
  #builders: ItemBuilder[] = [];
  /** Tool calls that began before the first event, in the turn of which it is a part. */
  #early: ToolBuilder[] = [];
  readonly #tools = new Map<string, ToolBuilder>();
  readonly #plans = new Map<string, PlanBuilder>();
  readonly #proposals = new Map<string, ProposalBuilder>();
  readonly #prompts = new PromptPairs();
  readonly #requests = new RequestPairs();
  readonly #callsOfTurn = new Map<string, CallBuilder[]>();
  readonly #endedTurns = new Set<string>();
  /** The run that continues if nothing else is shown. */
  #run: RunBuilder | undefined;
  /** The run that nothing stands before, so that an older page may hold its beginning. */
  #head: RunBuilder | undefined;
  /** Time of the first item that is shown and not part of the head. */
  #brokenAt: number | undefined;
  #headTurn: string;
  #firstSeq: number;

  #branchedAt = -1n;

  constructor(first: Event) {
    this.#firstSeq = Number(first.seq);
    this.#headTurn = first.turnId;
  }

  snapshot(): readonly Item[] {
    return [...this.#early.map((builder) => builder.item), ...this.#builders.map((builder) => builder.item)];
  }

  take(event: Event): void {
    const { payload } = event;
    switch (payload.case) {
      case "sessionStarted": {
        const { continued, forkedFromSessionId, forkedBeforeSeq } = payload.value;
        // The edited prompt that follows has the other versions beside it.
        if (forkedBeforeSeq) this.#branchedAt = event.seq;
        if (forkedBeforeSeq || event.seq === this.#branchedAt + 1n) this.#break(event);
        else if (forkedFromSessionId) this.#mark(event, "Forked from another session");
        else if (continued) this.#mark(event, continuedWords(payload.value));
        else this.#break(event);
        break;
      }
      case "promptSubmitted": {
        const { text, blocksJson } = payload.value;
        const prompt = new PromptBuilder(event, text, blocksJson.map(parseContentBlock));
        this.#break(event);
        this.#builders.push(prompt);
        this.#prompts.add(prompt);
        break;
      }
      case "textDelta":
        this.#say(event, "answer", payload.value);
        break;
      case "thinking":
        this.#say(event, "thought", payload.value);
        break;
      case "toolStarted":
        this.#break(event);
        this.#tool(event, payload.value.toolId).start(event, payload.value);
        break;
      case "toolUpdated":
        this.#tool(event, payload.value.toolId).update(event, payload.value);
        break;
      case "toolCompleted":
        this.#tool(event, payload.value.toolId).complete(event, payload.value);
        break;
      case "planUpdated":
        this.#break(event);
        this.#plan(event).replace(event, payload.value.entries);
        break;
      case "permissionRequested":
        this.#addRequest(
          event,
          `permission ${payload.value.requestId}`,
          new PermissionBuilder(event, payload.value),
        );
        break;
      case "permissionResolved":
        this.#requests.settle(`permission ${payload.value.requestId}`, { event, value: payload.value });
        break;
      case "questionAsked":
        this.#addRequest(
          event,
          `question ${payload.value.requestId}`,
          new QuestionBuilder(event, payload.value),
        );
        break;
      case "questionAnswered":
        this.#requests.settle(`question ${payload.value.requestId}`, { event, value: payload.value });
        break;
      case "proposalUpdated":
        this.#break(event);
        this.#propose(event, payload.value);
        break;
      case "checkpointCreated":
        if (payload.value.moment === CheckpointMoment.BEFORE_TURN)
          this.#prompts.addCheckpoint(event.turnId, payload.value);
        break;
      case "checkpointRestored": {
        const restored = payload.value;
        const text = restoredWords(restored);
        this.#show(event, (base) => ({ ...base, type: "mark", text, restored }));
        break;
      }
      case "notice": {
        const notice = payload.value;
        this.#show(event, (base) => ({ ...base, type: "notice", notice }));
        break;
      }
      case "error": {
        const error = payload.value;
        this.#show(event, (base) => ({ ...base, type: "error", error }));
        break;
      }
      case "turnEnded": {
        const ended = payload.value;
        this.#endTurn(event.turnId);
        if (isWorthTelling(ended)) this.#show(event, (base) => ({ ...base, type: "end", ended }));
        else this.#break(event);
        break;
      }
      case "stateChanged":
      case "todosUpdated":
      case "usageUpdated":
      case "commandsUpdated":
      case "configUpdated":
      case "componentsUpdated":
      case "titleUpdated":
      case "editorRequested":
      case "editorReplied":
      case undefined:
        break;
    }
  }

  /** Puts the fold of the page right before this one in front. The older fold is used up. */
  prepend(older: EventFold): void {
    this.#firstSeq = older.#firstSeq;
    this.#joinRuns(older);
    const early = this.#early;
    this.#early = older.#early;
    this.#headTurn = older.#headTurn;
    this.#builders = [...older.#builders, ...this.#builders];
    for (const [key, builder] of older.#tools) this.#joinTool(key, builder);
    for (const [key, builder] of older.#plans) this.#joinPlan(key, builder);
    for (const [key, builder] of older.#proposals) this.#joinProposal(key, builder);
    for (const builder of early) if (!older.#tools.has(builder.key)) this.#place(builder);
    this.#prompts.prepend(older.#prompts);
    this.#requests.prepend(older.#requests);
    for (const turn of older.#endedTurns) this.#endTurn(turn);
    for (const calls of older.#callsOfTurn.values()) for (const call of calls) this.#follow(call);
  }

  #say(event: Event, type: "answer" | "thought", said: TextDelta | Thinking): void {
    if (said.text === "" && said.blockJson === "") return;
    const last = this.#run;
    const goesOn = last instanceof SpeechBuilder && last.isOf(type, said.messageId);
    const run = goesOn ? last : this.#begin(new SpeechBuilder(event, type, said.messageId));
    run.add(event, said.text, said.blockJson);
  }

  #mark(event: Event, text: string): void {
    const last = this.#run;
    const goesOn = last instanceof MarkBuilder && last.text === text;
    const run = goesOn ? last : this.#begin(new MarkBuilder(event, text));
    run.add(event);
  }

  #begin<Run extends RunBuilder>(next: Run): Run {
    this.#run?.close(next.at);
    this.#run = next;
    this.#builders.push(next);
    if (this.#brokenAt === undefined && this.#head === undefined) {
      this.#head = next;
      next.partial = this.#firstSeq > 1;
    }
    return next;
  }

  #break(event: Event): void {
    const at = timeOf(event);
    this.#run?.close(at);
    this.#run = undefined;
    this.#brokenAt ??= at;
  }

  #show(event: Event, shown: (base: ItemBase) => Item): void {
    this.#break(event);
    this.#builders.push(new EventItemBuilder(event, shown));
  }

  #tool(event: Event, toolId: string): ToolBuilder {
    const key = ToolBuilder.keyOf(event.turnId, toolId);
    const known = this.#tools.get(key);
    if (known !== undefined) return known;
    const builder = new ToolBuilder(event, toolId);
    this.#tools.set(key, builder);
    this.#follow(builder);
    if (event.payload.case === "toolStarted") this.#builders.push(builder);
    else this.#place(builder);
    return builder;
  }

  /** Finds the place of a tool call whose beginning has not been seen, and may never be. */
  #place(builder: ToolBuilder): void {
    builder.partial = this.#firstSeq > 1 && builder.turnId === this.#headTurn;
    if (builder.partial) {
      this.#early.push(builder);
      return;
    }
    const before = this.#builders.findLastIndex((other) => other.firstSeq < builder.firstSeq);
    this.#builders.splice(before + 1, 0, builder);
  }

  #plan(event: Event): PlanBuilder {
    const key = PlanBuilder.keyOf(event.turnId);
    const known = this.#plans.get(key);
    if (known !== undefined) return known;
    const builder = new PlanBuilder(event);
    this.#plans.set(key, builder);
    this.#builders.push(builder);
    return builder;
  }

  #propose(event: Event, proposal: ProposalUpdated): void {
    const known = this.#proposals.get(proposal.proposalId);
    if (known?.holds(event.turnId) === true) {
      known.update(event, proposal);
      return;
    }
    const builder = new ProposalBuilder(event, proposal);
    if (known !== undefined) {
      builder.follow(known);
      this.#builders = this.#builders.filter((other) => other !== known);
    }
    this.#proposals.set(proposal.proposalId, builder);
    this.#builders.push(builder);
  }

  #addRequest(event: Event, key: string, builder: RequestBuilder): void {
    this.#break(event);
    this.#requests.add(key, builder);
    this.#follow(builder);
    this.#builders.push(builder);
  }

  #follow(call: CallBuilder): void {
    const calls = this.#callsOfTurn.get(call.turnId);
    if (calls === undefined) this.#callsOfTurn.set(call.turnId, [call]);
    else calls.push(call);
    if (this.#endedTurns.has(call.turnId)) call.endTurn();
  }

  #endTurn(turnId: string): void {
    this.#endedTurns.add(turnId);
    for (const call of this.#callsOfTurn.get(turnId) ?? []) call.endTurn();
  }

  #joinRuns(older: EventFold): void {
    const tail = older.#run;
    const head = this.#head;
    const untouched = older.#head === undefined && older.#brokenAt === undefined;
    if (tail !== undefined && head !== undefined && tail.continuedBy(head)) {
      head.follow(tail);
      head.partial = tail.partial;
      this.#builders = this.#builders.filter((builder) => builder !== head);
      older.#builders = older.#builders.map((builder) => (builder === tail ? head : builder));
      this.#head = older.#head === tail ? head : older.#head;
    } else {
      const next = head?.at ?? this.#brokenAt;
      if (next !== undefined) tail?.close(next);
      else this.#run = tail;
      if (head !== undefined) head.partial = untouched && this.#firstSeq > 1;
      this.#head = untouched ? head : older.#head;
    }
    this.#brokenAt = older.#brokenAt ?? this.#brokenAt;
  }

  #joinTool(key: string, older: ToolBuilder): void {
    const newer = this.#tools.get(key);
    if (newer === undefined) {
      this.#tools.set(key, older);
      return;
    }
    newer.follow(older);
    this.#builders = replaced(this.#builders, older, newer);
    this.#early = this.#early.map((builder) => (builder === older ? newer : builder));
  }

  #joinPlan(key: string, older: PlanBuilder): void {
    const newer = this.#plans.get(key);
    if (newer === undefined) {
      this.#plans.set(key, older);
      return;
    }
    newer.follow(older);
    this.#builders = replaced(this.#builders, older, newer);
  }

  #joinProposal(key: string, older: ProposalBuilder): void {
    const newer = this.#proposals.get(key);
    if (newer === undefined) {
      this.#proposals.set(key, older);
    } else if (older.holds(newer.turnId)) {
      older.continueWith(newer);
      this.#proposals.set(key, older);
      this.#builders = this.#builders.filter((builder) => builder !== newer);
    } else {
      newer.follow(older);
      this.#builders = this.#builders.filter((builder) => builder !== older);
    }
  }
}

/** The newer builder takes the place of the older one. */
function replaced(builders: readonly ItemBuilder[], older: ItemBuilder, newer: ItemBuilder): ItemBuilder[] {
  return builders
    .filter((builder) => builder !== newer)
    .map((builder) => (builder === older ? newer : builder));
}

/** A turn that failed has its error; one that just ended needs no words. */
function isWorthTelling(ended: TurnEnded): boolean {
  const stopped = ended.state === TurnState.CANCELED || ended.state === TurnState.INTERRUPTED;
  return stopped || CUT_SHORT.has(ended.stopReason) || ended.durationMs >= LONG_TURN_MS;
}

function continuedWords({ mode }: SessionStarted): string {
  return mode === "" || mode === "direct" ? "Session continued" : `Session continued in ${mode} mode`;
}

function restoredWords({ files, proposalId }: CheckpointRestored): string {
  const words = `Restored a checkpoint: ${files} ${files === 1 ? "file" : "files"} changed`;
  return proposalId === "" ? words : `${words}; your own edits are in a proposal`;
}
