// Folds consecutive events of a session into cells, and joins what was folded of an older page.
//
// Whatever is decided here depends on no event that may be missing, so that it makes no difference
// in which pages a log was loaded. What reaches over the edge of a page is kept for the join: the
// run at each end, tool calls without a beginning, answers without a question, ends of turns.

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
import { PermissionCell, QuestionCell, ToolCell, type AskCell, type CallCell } from "./calls";
import { MarkCell, PlanCell, RunCell, SingleCell, SpeechCell, timeOf, type Base, type Cell } from "./cells";
import { readBlock } from "./content";
import { Asks, Prompts } from "./pairs";
import { PromptCell, ProposalCell } from "./review-cells";
import type { Item } from "./types";

/** A turn that took longer says so when it ends. */
const LONG_TURN_MS = 60_000;
const CUT_SHORT = new Set(["max_tokens", "max_turn_requests", "refusal"]);

export class Fold {
  /** In the order of their first events. */
  #cells: Cell[] = [];
  /** Tool calls that began before the first event, in the turn of which it is a part. */
  #early: ToolCell[] = [];
  readonly #tools = new Map<string, ToolCell>();
  readonly #plans = new Map<string, PlanCell>();
  readonly #proposals = new Map<string, ProposalCell>();
  readonly #prompts = new Prompts();
  readonly #asks = new Asks();
  readonly #callsOfTurn = new Map<string, CallCell[]>();
  readonly #endedTurns = new Set<string>();
  /** The run that goes on if nothing else is shown. */
  #run: RunCell | undefined;
  /** The run that nothing stands before, so that an older page may hold its beginning. */
  #head: RunCell | undefined;
  /** When something was first shown that is not part of the head. */
  #brokenAt: number | undefined;
  #headTurn: string;
  #firstSeq: number;

  constructor(first: Event) {
    this.#firstSeq = Number(first.seq);
    this.#headTurn = first.turnId;
  }

  snapshot(): readonly Item[] {
    return [...this.#early.map((cell) => cell.item), ...this.#cells.map((cell) => cell.item)];
  }

  take(event: Event): void {
    const { payload } = event;
    switch (payload.case) {
      case "sessionStarted": {
        const { continued, forkedFromSessionId } = payload.value;
        if (forkedFromSessionId) this.#mark(event, "A copy of another session goes on from here");
        else if (continued) this.#mark(event, continuedWords(payload.value));
        else this.#break(event);
        break;
      }
      case "promptSubmitted": {
        const { text, blocksJson } = payload.value;
        const prompt = new PromptCell(event, text, blocksJson.map(readBlock));
        this.#break(event);
        this.#cells.push(prompt);
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
        this.#ask(event, `permission ${payload.value.requestId}`, new PermissionCell(event, payload.value));
        break;
      case "permissionResolved":
        this.#asks.settle(`permission ${payload.value.requestId}`, { event, value: payload.value });
        break;
      case "questionAsked":
        this.#ask(event, `question ${payload.value.requestId}`, new QuestionCell(event, payload.value));
        break;
      case "questionAnswered":
        this.#asks.settle(`question ${payload.value.requestId}`, { event, value: payload.value });
        break;
      case "proposalUpdated":
        this.#break(event);
        this.#propose(event, payload.value);
        break;
      case "checkpointCreated":
        if (payload.value.moment === CheckpointMoment.BEFORE_TURN)
          this.#prompts.keep(event.turnId, payload.value);
        break;
      case "checkpointRestored": {
        const text = restoredWords(payload.value);
        this.#show(event, (base) => ({ ...base, type: "mark", text }));
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
      case "titleUpdated":
      case "editorRequested":
      case "editorReplied":
      case undefined:
        break;
    }
  }

  /** Puts the fold of the page right before this one in front. The older fold is used up. */
  prepend(older: Fold): void {
    this.#firstSeq = older.#firstSeq;
    this.#joinRuns(older);
    const early = this.#early;
    this.#early = older.#early;
    this.#headTurn = older.#headTurn;
    this.#cells = [...older.#cells, ...this.#cells];
    for (const [key, cell] of older.#tools) this.#joinTool(key, cell);
    for (const [key, cell] of older.#plans) this.#joinPlan(key, cell);
    for (const [key, cell] of older.#proposals) this.#joinProposal(key, cell);
    for (const cell of early) if (!older.#tools.has(cell.key)) this.#place(cell);
    this.#prompts.prepend(older.#prompts);
    this.#asks.prepend(older.#asks);
    for (const turn of older.#endedTurns) this.#endTurn(turn);
    for (const calls of older.#callsOfTurn.values()) for (const call of calls) this.#follow(call);
  }

  #say(event: Event, type: "answer" | "thought", said: TextDelta | Thinking): void {
    if (said.text === "" && said.blockJson === "") return;
    const last = this.#run;
    const goesOn = last instanceof SpeechCell && last.isOf(type, said.messageId);
    const run = goesOn ? last : this.#begin(new SpeechCell(event, type, said.messageId));
    run.add(event, said.text, said.blockJson);
  }

  #mark(event: Event, text: string): void {
    const last = this.#run;
    const goesOn = last instanceof MarkCell && last.text === text;
    const run = goesOn ? last : this.#begin(new MarkCell(event, text));
    run.add(event);
  }

  #begin<Run extends RunCell>(next: Run): Run {
    this.#run?.close(next.at);
    this.#run = next;
    this.#cells.push(next);
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

  #show(event: Event, shown: (base: Base) => Item): void {
    this.#break(event);
    this.#cells.push(new SingleCell(event, shown));
  }

  #tool(event: Event, toolId: string): ToolCell {
    const key = ToolCell.keyOf(event.turnId, toolId);
    const known = this.#tools.get(key);
    if (known !== undefined) return known;
    const cell = new ToolCell(event, toolId);
    this.#tools.set(key, cell);
    this.#follow(cell);
    if (event.payload.case === "toolStarted") this.#cells.push(cell);
    else this.#place(cell);
    return cell;
  }

  /** Finds the place of a tool call whose beginning has not been seen, and may never be. */
  #place(cell: ToolCell): void {
    cell.partial = this.#firstSeq > 1 && cell.turnId === this.#headTurn;
    if (cell.partial) {
      this.#early.push(cell);
      return;
    }
    const before = this.#cells.findLastIndex((other) => other.firstSeq < cell.firstSeq);
    this.#cells.splice(before + 1, 0, cell);
  }

  #plan(event: Event): PlanCell {
    const key = PlanCell.keyOf(event.turnId);
    const known = this.#plans.get(key);
    if (known !== undefined) return known;
    const cell = new PlanCell(event);
    this.#plans.set(key, cell);
    this.#cells.push(cell);
    return cell;
  }

  #propose(event: Event, proposal: ProposalUpdated): void {
    const known = this.#proposals.get(proposal.proposalId);
    if (known?.holds(event.turnId) === true) {
      known.update(event, proposal);
      return;
    }
    const cell = new ProposalCell(event, proposal);
    if (known !== undefined) {
      cell.follow(known);
      this.#cells = this.#cells.filter((other) => other !== known);
    }
    this.#proposals.set(proposal.proposalId, cell);
    this.#cells.push(cell);
  }

  #ask(event: Event, key: string, cell: AskCell): void {
    this.#break(event);
    this.#asks.ask(key, cell);
    this.#follow(cell);
    this.#cells.push(cell);
  }

  #follow(call: CallCell): void {
    const calls = this.#callsOfTurn.get(call.turnId);
    if (calls === undefined) this.#callsOfTurn.set(call.turnId, [call]);
    else calls.push(call);
    if (this.#endedTurns.has(call.turnId)) call.endTurn();
  }

  #endTurn(turnId: string): void {
    this.#endedTurns.add(turnId);
    for (const call of this.#callsOfTurn.get(turnId) ?? []) call.endTurn();
  }

  #joinRuns(older: Fold): void {
    const tail = older.#run;
    const head = this.#head;
    const untouched = older.#head === undefined && older.#brokenAt === undefined;
    if (tail !== undefined && head !== undefined && tail.continuedBy(head)) {
      head.follow(tail);
      head.partial = tail.partial;
      this.#cells = this.#cells.filter((cell) => cell !== head);
      older.#cells = older.#cells.map((cell) => (cell === tail ? head : cell));
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

  #joinTool(key: string, older: ToolCell): void {
    const newer = this.#tools.get(key);
    if (newer === undefined) {
      this.#tools.set(key, older);
      return;
    }
    newer.follow(older);
    this.#cells = replaced(this.#cells, older, newer);
    this.#early = this.#early.map((cell) => (cell === older ? newer : cell));
  }

  #joinPlan(key: string, older: PlanCell): void {
    const newer = this.#plans.get(key);
    if (newer === undefined) {
      this.#plans.set(key, older);
      return;
    }
    newer.follow(older);
    this.#cells = replaced(this.#cells, older, newer);
  }

  #joinProposal(key: string, older: ProposalCell): void {
    const newer = this.#proposals.get(key);
    if (newer === undefined) {
      this.#proposals.set(key, older);
    } else if (older.holds(newer.turnId)) {
      older.goOn(newer);
      this.#proposals.set(key, older);
      this.#cells = this.#cells.filter((cell) => cell !== newer);
    } else {
      newer.follow(older);
      this.#cells = this.#cells.filter((cell) => cell !== older);
    }
  }
}

/** The newer cell takes the place of the older one. */
function replaced(cells: readonly Cell[], older: Cell, newer: Cell): Cell[] {
  return cells.filter((cell) => cell !== newer).map((cell) => (cell === older ? newer : cell));
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
  const words = `Went back to an earlier state: ${files} ${files === 1 ? "file" : "files"} changed`;
  return proposalId === "" ? words : `${words}, your own edits are in a proposal`;
}
