// Sends prompts, and finds out later whether a prompt arrived whose call or page was lost.

import { Code, ConnectError } from "@connectrpc/connect";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Gateway } from "../gateway/gateway";
import { WhenBusy, type AttachmentSchema, type Desk } from "../generated/portico/v1/agent_pb";
import type { Event } from "../generated/portico/v1/events_pb";
import { isLost } from "./call-failure";
import type { Outgoing, OutgoingAttachment, PromptItem } from "./types";

const MEGABYTE = 1024 * 1024;
/** The server's size limit; larger calls would fail without a clear error. */
const MOST_BYTES = 30 * MEGABYTE;

/** A prompt whose arrival at the server is unknown. */
interface UnconfirmedPrompt {
  readonly text: string;
  readonly afterSeq: number;
  readonly queuedBefore: ReadonlySet<string>;
  readonly arrived: () => void;
}

/** The same, for the page that comes after this one. */
interface StoredPrompt {
  readonly text: string;
  readonly afterSeq: number;
  readonly queued: readonly string[];
}

export class Outbox {
  readonly #gateway: Gateway;
  readonly #sessionId: string;
  readonly #storeKey: string;
  #missing: UnconfirmedPrompt | undefined;
  #sending: string | undefined;
  /** The page before this one sent it: it is known to be there, and the draft is not known yet. */
  #isFoundEarly = false;
  #queued: ReadonlySet<string> = new Set();
  #areDraftsKnown = false;

  /** `arrived` is called when a prompt of an earlier page turns out to have arrived. */
  constructor(gateway: Gateway, sessionId: string, arrived: (text: string) => void) {
    this.#gateway = gateway;
    this.#sessionId = sessionId;
    this.#storeKey = `sent ${sessionId}`;
    const kept = readStored(gateway.draftStore.get(this.#storeKey));
    if (kept === undefined) return;
    const { text, afterSeq, queued } = kept;
    this.#missing = { text, afterSeq, queuedBefore: new Set(queued), arrived: () => arrived(text) };
  }

  /**
   * Resolves when the server has the prompt, and rejects if it is not known to have it. `arrived` is called
   * when it has, also if it shows up in the log or in the queue after all.
   */
  async deliver(outgoing: Outgoing, lastSeq: number, arrived: () => void): Promise<void> {
    requireSize(outgoing);
    const missing = { text: outgoing.text, afterSeq: lastSeq, queuedBefore: this.#queued, arrived };
    this.#missing = undefined;
    const kept: StoredPrompt = { text: outgoing.text, afterSeq: lastSeq, queued: [...this.#queued] };
    this.#gateway.draftStore.set(this.#storeKey, JSON.stringify(kept));
    this.#sending = outgoing.text;
    try {
      await this.#submit({ text: outgoing.text, attachments: outgoing.attachments.map(attachment) });
    } catch (reason) {
      if (isLost(reason)) this.#missing = missing;
      else this.#gateway.draftStore.set(this.#storeKey, undefined);
      throw reason;
    } finally {
      this.#sending = undefined;
    }
    arrived();
    // After the draft, so that a page that is discarded in between still knows that it was sent.
    this.#gateway.draftStore.set(this.#storeKey, undefined);
  }

  /** Whether a text is on its way to the server as a prompt. */
  isSending(text: string): boolean {
    return this.#sending === text;
  }

  async deliverQueued(promptId: string): Promise<void> {
    await this.#submit({ queuedPromptId: promptId });
  }

  receiveEvents(events: readonly Event[]): void {
    const found = events.some(
      ({ seq, payload }) =>
        payload.case === "promptSubmitted" &&
        payload.value.text === this.#missing?.text &&
        Number(seq) > this.#missing.afterSeq,
    );
    if (found && this.#areDraftsKnown) this.#found();
    else if (found) this.#isFoundEarly = true;
  }

  receiveDrafts(drafts: Desk): void {
    this.#areDraftsKnown = true;
    this.#queued = new Set(drafts.queue.map((prompt) => prompt.promptId));
    const missing = this.#missing;
    if (missing === undefined) return;
    if (
      this.#isFoundEarly ||
      drafts.queue.some(
        (prompt) => prompt.text === missing.text && !missing.queuedBefore.has(prompt.promptId),
      )
    ) {
      this.#found();
    }
  }

  #found(): void {
    const missing = this.#missing;
    this.#missing = undefined;
    this.#isFoundEarly = false;
    this.#gateway.draftStore.set(this.#storeKey, undefined);
    missing?.arrived();
  }

  /** Resolves when the prompt is in the log or in the queue; the session's stream shows its turn. */
  async #submit(prompt: {
    text?: string;
    attachments?: MessageInitShape<typeof AttachmentSchema>[];
    queuedPromptId?: string;
  }): Promise<void> {
    const request = { sessionId: this.#sessionId, whenBusy: WhenBusy.QUEUE, ...prompt };
    await this.#gateway.client.submitPrompt(request);
  }
}

function requireSize({ text, attachments }: Outgoing): void {
  const attached = attachments.reduce((sum, { data }) => sum + (data?.byteLength ?? 0), 0);
  const bytes = new TextEncoder().encode(text).byteLength + attached;
  if (bytes <= MOST_BYTES) return;
  const size = `The prompt is ${Math.ceil(bytes / MEGABYTE)} MB with attachments; the limit is ${MOST_BYTES / MEGABYTE} MB.`;
  const wayOn = "Put long text in a file in the folder and mention it with @.";
  throw new ConnectError(`${size} ${wayOn}`, Code.InvalidArgument);
}

function readStored(words: string | undefined): StoredPrompt | undefined {
  try {
    return words === undefined ? undefined : (JSON.parse(words) as StoredPrompt);
  } catch {
    // Of another version, or cut off: the draft is there all the same.
    return undefined;
  }
}

function attachment(outgoing: OutgoingAttachment): MessageInitShape<typeof AttachmentSchema> {
  const { name, mimeType, path, data } = outgoing;
  if (path !== undefined) return { name, mimeType, source: { case: "path", value: path } };
  return { name, mimeType, source: { case: "data", value: data ?? new Uint8Array() } };
}

/** Attachments of a prompt that can be sent again. */
export function outgoingFrom(prompt: PromptItem): Outgoing {
  const { text, blocks } = prompt;
  return { text, attachments: blocks.filter((block) => !isMention(block, text)).flatMap(attachmentOf) };
}

/** Files mentioned in the text are found again by the server. Folders cannot be attached. */
function isMention({ type, name }: PromptItem["blocks"][number], text: string): boolean {
  return type === "resource_link" && (text.includes(`@${name}`) || text.includes(`@"${name}"`));
}

function attachmentOf(block: PromptItem["blocks"][number]): OutgoingAttachment[] {
  const { name, mimeType, uri, data } = block;
  if (uri.startsWith("file://")) return [{ name, mimeType, path: decodeURIComponent(new URL(uri).pathname) }];
  if (data === "") return [];
  return [{ name, mimeType, data: Uint8Array.from(atob(data), (character) => character.charCodeAt(0)) }];
}
