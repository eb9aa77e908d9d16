// Types shared by the model and the views. Values only.

import type { ReadonlySignal, Signal } from "@preact/signals";
import type {
  Component,
  Desk,
  KeptPrompt,
  PromptPiece,
  ReviewMode,
  SessionDetail,
  SessionSummary,
} from "../generated/portico/v1/agent_pb";
import type {
  FileProblems,
  CheckpointCreated,
  CheckpointRestored,
  ErrorDetails,
  ErrorReported,
  Location,
  Notice,
  PermissionRequested,
  PermissionResolved,
  PermissionScope,
  PlanEntry,
  ProposalUpdated,
  ProposedFile,
  QuestionAnswered,
  QuestionAsked,
  TerminalOutput,
  Todo,
  ToolKind,
  ToolPart,
  ToolStatus,
  TurnEnded,
  TurnState,
} from "../generated/portico/v1/events_pb";

/**
 * One thing in the timeline, folded from one event or many. An item is replaced by a new object
 * when it changes, so a view may compare by identity; its key never changes.
 */
export type Item =
  | PromptItem
  | AnswerItem
  | ThoughtItem
  | ToolItem
  | PlanItem
  | PermissionItem
  | QuestionItem
  | NoticeItem
  | ErrorItem
  | EndItem
  | ProposalItem
  | MarkItem;

export interface ItemBase {
  /** Stable for the life of the item, unique in the session. */
  readonly key: string;
  /** The first and the last event that went into it. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly at: Date;
  readonly turnId: string;
}

export interface PromptItem extends ItemBase {
  readonly type: "prompt";
  readonly text: string;
  readonly blocks: readonly ContentBlock[];
  /** Checkpoint of the folder before this prompt, if one was taken. */
  readonly checkpoint?: CheckpointCreated;
}

/** Text of the agent, as Markdown. `open` while more may come. */
export interface AnswerItem extends ItemBase {
  readonly type: "answer";
  readonly text: string;
  readonly blocks: readonly ContentBlock[];
  readonly open: boolean;
  /** Its beginning lies in a page that is not loaded yet. */
  readonly partial: boolean;
}

export interface ThoughtItem extends ItemBase {
  readonly type: "thought";
  readonly text: string;
  readonly blocks: readonly ContentBlock[];
  readonly open: boolean;
  readonly partial: boolean;
  readonly durationMs: number;
}

export interface ToolItem extends ItemBase {
  readonly type: "tool";
  readonly toolId: string;
  readonly title: string;
  readonly kind: ToolKind;
  readonly status: ToolStatus;
  readonly name: string;
  readonly content: readonly ToolPart[];
  readonly locations: readonly Location[];
  readonly inputJson: string | undefined;
  readonly outputJson: string | undefined;
  /** Output of the commands it runs, gathered by terminal. */
  readonly terminals: ReadonlyMap<string, TerminalText>;
  readonly durationMs: number | undefined;
  /** Whether the tool changes nothing, as a trusted MCP server says. */
  readonly readOnly: boolean;
  /** Whether it can be stopped while the turn continues. */
  readonly stoppable: boolean;
  /** Problems that the call added to files and removed from them. */
  readonly problems: readonly FileProblems[];
  readonly partial: boolean;
  /** Its turn ended before it did: nothing more will come. */
  readonly abandoned: boolean;
  /** The request that allowed it, which has no row of its own then. */
  readonly permission?: PermissionItem;
}

export interface TerminalText {
  readonly text: string;
  readonly last: TerminalOutput;
}

export interface PlanItem extends ItemBase {
  readonly type: "plan";
  readonly entries: readonly PlanEntry[];
}

export interface PermissionItem extends ItemBase {
  readonly type: "permission";
  readonly request: PermissionRequested;
  readonly resolved: PermissionResolved | undefined;
  /** Its turn ended without an answer, so none can be given any more. */
  readonly abandoned: boolean;
}

export interface QuestionItem extends ItemBase {
  readonly type: "question";
  readonly asked: QuestionAsked;
  readonly answered: QuestionAnswered | undefined;
  readonly abandoned: boolean;
}

export interface NoticeItem extends ItemBase {
  readonly type: "notice";
  readonly notice: Notice;
}

export interface ErrorItem extends ItemBase {
  readonly type: "error";
  readonly error: ErrorReported;
}

/** End of a turn, if it is worth a line: canceled, interrupted, out of tokens, long. */
export interface EndItem extends ItemBase {
  readonly type: "end";
  readonly ended: TurnEnded;
}

/** Changes that wait for review, in their current state. */
export interface ProposalItem extends ItemBase {
  readonly type: "proposal";
  readonly proposal: ProposalUpdated;
  /** The files it had when it was last open. */
  readonly listed: readonly ProposedFile[];
}

/** A quiet line: the session was continued, or the agent was attached in a way the person should know. */
export interface MarkItem extends ItemBase {
  readonly type: "mark";
  readonly text: string;
  /** A restore, which can be undone. */
  readonly restored?: CheckpointRestored;
}

/** An ACP content block that is not text. */
export interface ContentBlock {
  readonly type: "image" | "audio" | "resource_link" | "resource" | "other";
  readonly name: string;
  readonly mimeType: string;
  readonly uri: string;
  /** Base64, for images and audio. */
  readonly data: string;
  readonly text: string;
  readonly json: string;
}

export type Connection =
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  | { readonly state: "reconnecting"; readonly since: number; readonly attempt: number }
  | { readonly state: "outdated" }
  | { readonly state: "signed_out" };

/** A failed call, in the words of the server. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly suggestion: string;
  readonly recoverable: boolean;
  /** Whatever else the server said of it. */
  readonly details?: ErrorDetails;
}

/** A prompt of the person. */
export interface Outgoing {
  readonly text: string;
  readonly attachments: readonly OutgoingAttachment[];
}

export interface OutgoingAttachment {
  readonly name: string;
  readonly mimeType: string;
  /** A file of the workspace, or the bytes themselves. */
  readonly path?: string;
  readonly data?: Uint8Array;
}

/** One open session: everything its tab shows, and everything that can be done in it. */
export interface SessionModel {
  readonly id: string;
  readonly detail: ReadonlySignal<SessionDetail | undefined>;
  readonly items: ReadonlySignal<readonly Item[]>;
  /** Follows the events, so it is newer than detail.summary.state. */
  readonly state: ReadonlySignal<TurnState>;
  readonly connection: ReadonlySignal<Connection>;
  readonly hasEarlier: ReadonlySignal<boolean>;
  readonly plan: ReadonlySignal<readonly PlanEntry[]>;
  readonly todos: ReadonlySignal<readonly Todo[]>;
  readonly drafts: ReadonlySignal<Desk | undefined>;
  /** The person's own words in the composer; saved at the server within 300 ms. */
  readonly draft: Signal<string>;
  /** Text from another window, written at the same time; the person uses or drops it. */
  readonly draftConflict: Signal<string | undefined>;
  /** The last call that failed and has not been dismissed. */
  readonly failure: Signal<Failure | undefined>;

  loadEarlier(): Promise<void>;
  /** Sends, or queues while a turn runs. Resolves when the server has it; on failure the draft is kept. */
  send(outgoing: Outgoing): Promise<boolean>;
  /** Sends the last prompt again. */
  retry(): Promise<void>;
  stop(force?: boolean): Promise<void>;
  /** Ends one command of the agent; the turn continues. */
  stopCommand(terminalId: string): Promise<void>;
  stopTool(toolId: string): Promise<void>;
  /** Gives up an interrupted turn. */
  discard(): Promise<void>;
  /** Answers requests. A reason is for the agent: it is sent as the next prompt. */
  decide(decisions: readonly Decision[], reason?: string): Promise<void>;
  reply(requestId: string, action: "accept" | "decline" | "cancel", content?: object): Promise<void>;
  setOption(optionId: string, value: string | boolean): Promise<void>;
  listComponents(): Promise<readonly Component[] | undefined>;
  /** Switches a component from the next prompt on; all of them after that. */
  switchComponent(name: string, on: boolean): Promise<readonly Component[] | undefined>;
  /** Lets changes reach the files another way from now on. */
  setMode(mode: ReviewMode): Promise<void>;
  unqueue(promptId: string): Promise<void>;
  /** Gives a queued prompt another text, or another place in the queue. */
  changeQueued(promptId: string, change: { readonly text?: string; readonly place?: number }): Promise<void>;
  /** Sends a prompt that waits in the queue, in place of the current turn. */
  sendQueued(promptId: string): Promise<void>;
  writeTodos(todos: readonly Todo[]): Promise<void>;
  /** Undefined: the server did not tell. */
  findFiles(query: string): Promise<readonly { path: string; matched: readonly number[] }[] | undefined>;
  /** The prompts that are kept as files. Undefined: the server did not tell. */
  listPrompts(): Promise<readonly KeptPrompt[] | undefined>;
  /** One of them; undefined with a message if it cannot be used. */
  getPrompt(name: string): Promise<readonly PromptPiece[] | undefined>;
  /** Stops watching; called for hidden and closed tabs. */
  pause(): void;
  /** Watches again from the last event it has. */
  wake(): void;
  dispose(): void;
}

export interface Decision {
  readonly requestId: string;
  readonly optionId: string;
  readonly scope: PermissionScope;
  /** The rule to keep; without it, the one of the request. */
  readonly rule?: string;
}

/** The list of sessions, live. */
export interface SessionListModel {
  readonly sessions: ReadonlySignal<readonly SessionSummary[]>;
  readonly search: Signal<string>;
  readonly more: ReadonlySignal<boolean>;
  readonly connection: ReadonlySignal<Connection>;
  /** The last call that failed and has not been dismissed. */
  readonly failure: Signal<Failure | undefined>;
  loadMore(): Promise<void>;
  /** Renames a session, or pins it to the top. */
  update(sessionId: string, change: { readonly title?: string; readonly pinned?: boolean }): Promise<void>;
  /** With what it proposes only if that is said; otherwise the server leaves such a session alone. */
  remove(sessionId: string, discardProposals?: boolean): Promise<void>;
  dispose(): void;
}
