// A prompt being composed, and its sending. The text is the session's draft. It belongs to the session, so it survives
// switching tabs.

import { effect, signal, untracked, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { Outgoing, SessionModel } from "../../model/types";
import { preferencesOf, type SendKey } from "../preferences";
import { displayName, isPicture, namePasted, refusalReason, type Attachment } from "./attachments";
import { PromptBlanks } from "./prompt-blanks";
import {
  contextAttachments,
  rememberContext,
  rememberedContext,
  type SharedContext,
} from "./context-attachments";
import { MentionedFiles } from "./mentioned-files";
import { PromptHistory } from "./prompt-history";
import { isConnected } from "../../model/reconnector";

const SENDS = "sends";

/** A prompt that goes out once the connection is back. */
interface WaitingPrompt {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

export class Composition {
  readonly attachments = signal<readonly Attachment[]>([]);
  readonly shared: Signal<SharedContext>;
  /** Reason why a file was not attached. */
  readonly attachmentError = signal<string | undefined>(undefined);
  readonly sending = signal(false);
  readonly waiting = signal<WaitingPrompt | undefined>(undefined);
  /** Whether the agent accepts images; asked when one is attached. */
  readonly takesImages = signal<boolean | undefined>(undefined);
  /** Number of prompts that this page has sent so far. */
  readonly sends = signal(0);
  /** The key that sends, as the person wants it. */
  readonly sendKey: ReadonlySignal<SendKey>;
  readonly history: PromptHistory;
  readonly files: MentionedFiles;
  readonly blanks = new PromptBlanks();
  readonly #session: SessionModel;
  readonly #gateway: Gateway;
  #number = 0;
  #stopWaiting: () => void = () => undefined;

  constructor(session: SessionModel, gateway: Gateway) {
    this.#session = session;
    this.#gateway = gateway;
    this.shared = signal(rememberedContext(gateway.memory));
    this.sendKey = preferencesOf(gateway.memory).sendKey;
    this.files = new MentionedFiles(session);
    this.history = new PromptHistory(() =>
      session.items.peek().flatMap((item) => (item.type === "prompt" ? [item.text] : [])),
    );
    const sends = gateway.memory.get(SENDS);
    if (typeof sends === "number") this.sends.value = sends;
  }

  /** Sends what is there, or has it wait for the connection. */
  async send(): Promise<void> {
    const text = this.#session.draft.peek();
    const attachments = this.attachments.peek();
    if ((text.trim() === "" && attachments.length === 0) || this.sending.peek()) return;
    if (isConnected(this.#session.connection.peek())) await this.#deliver({ text, attachments });
    else this.#wait({ text, attachments });
  }

  /** Takes a prompt back that waits for the connection. Its words are still in the draft. */
  withdraw(): void {
    this.#stopWaiting();
    this.waiting.value = undefined;
  }

  async attach(files: readonly File[], pasted = false): Promise<void> {
    this.attachmentError.value = undefined;
    for (const file of files) await this.#attachOne(file, pasted);
    if (this.attachments.peek().some(({ mimeType }) => mimeType.startsWith("image/")))
      await this.#askForImages();
  }

  /** Shares a part of the editor's context from now on, or leaves it out. */
  share(part: keyof SharedContext, on: boolean): void {
    this.shared.value = { ...this.shared.peek(), [part]: on };
    rememberContext(this.#gateway.memory, this.shared.peek());
  }

  detach(id: number): void {
    this.#drop((one) => one.id === id);
  }

  async #attachOne(file: File, pasted: boolean): Promise<void> {
    const refused = refusalReason(file, this.attachments.peek());
    if (refused !== undefined) {
      this.attachmentError.value = refused;
      return;
    }
    try {
      const data = new Uint8Array(await file.arrayBuffer());
      const id = ++this.#number;
      const name = pasted ? namePasted(file, id) : displayName(file.name);
      const preview = isPicture(file.type) ? URL.createObjectURL(file) : undefined;
      this.attachments.value = [...this.attachments.peek(), { id, name, mimeType: file.type, data, preview }];
    } catch {
      this.attachmentError.value = `Cannot read ${displayName(file.name)}. To attach a folder, attach its files.`;
    }
  }

  /** The session's state at opening may be older than its agent's start. */
  async #askForImages(): Promise<void> {
    if (this.#session.detail.peek()?.promptCapabilities?.image === true) return;
    try {
      const { session } = await this.#gateway.client.getSession({ sessionId: this.#session.id });
      this.takesImages.value = session?.promptCapabilities?.image;
    } catch {
      // The server is away, which the page tells by itself; what is known holds.
    }
  }

  #wait(waiting: WaitingPrompt): void {
    this.withdraw();
    this.waiting.value = waiting;
    this.#stopWaiting = effect(() => {
      const live = isConnected(this.#session.connection.value);
      const same = this.#session.draft.value.trimStart().startsWith(waiting.text.trim());
      if (!live && same) return;
      untracked(() => {
        this.withdraw();
        if (same) void this.#deliver(waiting);
      });
    });
  }

  async #deliver({ text, attachments }: WaitingPrompt): Promise<void> {
    const sent = new Set(attachments.map(({ id }) => id));
    this.sending.value = true;
    try {
      if (await this.#session.send(this.#outgoing(text, attachments))) this.#sent(sent);
    } finally {
      this.sending.value = false;
    }
  }

  #outgoing(text: string, attachments: readonly Attachment[]): Outgoing {
    const folder = this.#session.detail.peek()?.summary?.workspace ?? "";
    const context = contextAttachments(this.#gateway.editorContext?.peek(), this.shared.peek(), folder);
    const files = attachments.map(({ name, mimeType, data }) => ({ name, mimeType, data }));
    return { text, attachments: [...context, ...files] };
  }

  #sent(ids: ReadonlySet<number>): void {
    this.#drop(({ id }) => ids.has(id));
    this.attachmentError.value = undefined;
    this.sends.value++;
    this.#gateway.memory.set(SENDS, this.sends.peek());
  }

  #drop(isDropped: (one: Attachment) => boolean): void {
    const all = this.attachments.peek();
    for (const { preview } of all.filter(isDropped)) if (preview !== undefined) URL.revokeObjectURL(preview);
    this.attachments.value = all.filter((one) => !isDropped(one));
  }
}

const compositions = new WeakMap<SessionModel, Composition>();

export function compositionOf(session: SessionModel, gateway: Gateway): Composition {
  const known = compositions.get(session);
  if (known !== undefined) return known;
  const made = new Composition(session, gateway);
  compositions.set(session, made);
  return made;
}
