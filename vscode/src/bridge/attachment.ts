// Lends this window to the server for as long as both are there: takes its requests, answers each, and tells how the
// window stands. It never starts a server.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AttachEditorResponse,
  EditorCapabilitiesSchema,
  EditorReplySchema,
  EditorRequest,
} from "../../../web/src/generated/portico/v1/agent_pb";
import { wordsOf, type Agents, type Link } from "../server/link";
import type { Server } from "../server/server";
import { Staying } from "../staying";

export type Result = NonNullable<MessageInitShape<typeof EditorReplySchema>["result"]>;

/** What a window can do, whoever draws it. */
export interface EditorWindow {
  readonly name: string;
  readonly capabilities: MessageInitShape<typeof EditorCapabilitiesSchema>;
  /** None: there is nothing to lend, or nobody trusts it. */
  readonly folders: readonly string[];
  readonly state: { readonly unsaved: string[]; readonly focused: boolean };
  /** Resolves as soon as whoever draws the window takes something, which may be never. */
  isDrawn(): Promise<unknown>;
  /** Fails with words for people. */
  answer(request: EditorRequest["request"], signal: AbortSignal): Promise<Result>;
}

const SETTLED = 50;
/** So long a window may be busy and still be there. */
export const PATIENCE = 8_000;

export class Attachment {
  readonly #window: EditorWindow;
  readonly #staying: Staying;
  readonly #answering = new Map<string, AbortController>();
  #attached: { readonly client: Agents; readonly editorId: string } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #telling: Promise<void> = Promise.resolve();
  #told = "";
  #feeling: Promise<void> | undefined;
  #isThere = true;

  constructor(server: Server, link: Link, window: EditorWindow) {
    this.#window = window;
    const attach = this.#attach.bind(this);
    this.#staying = new Staying(server, link, attach, () => this.#isThere && window.folders.length > 0);
  }

  /** Attaches the window anew, because its folders are others now. */
  begin(): void {
    this.#staying.begin();
  }

  /** Something about the window may have changed. */
  changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tellState();
    }, SETTLED);
  }

  dispose(): void {
    this.#staying.dispose();
    clearTimeout(this.#timer);
  }

  async #attach(client: Agents, signal: AbortSignal, heard: () => void): Promise<void> {
    const { name, folders, capabilities } = this.#window;
    try {
      for await (const { update } of client.attachEditor(
        { name, folders: [...folders], capabilities },
        { signal },
      )) {
        heard();
        this.#take(update, client);
      }
    } finally {
      this.#attached = undefined;
      for (const answering of this.#answering.values()) answering.abort();
    }
  }

  #take(update: AttachEditorResponse["update"], client: Agents): void {
    if (update.case === "attached") {
      this.#attached = { client, editorId: update.value.editorId };
      this.#told = "";
      this.#tellState();
    } else if (update.case === "request") void this.#answer(update.value, client);
    else if (update.case === "cancelled") this.#answering.get(update.value.requestId)?.abort();
    else {
      this.changed();
      void this.#feel();
    }
  }

  /** The tab of a browser that was closed, or a line that broke, leaves this here without its window. Nobody is to
      wait for that one; should it come back, it is attached anew. */
  #feel(): Promise<void> {
    this.#feeling ??= this.#awaitWindow().finally(() => (this.#feeling = undefined));
    return this.#feeling;
  }

  async #awaitWindow(): Promise<void> {
    const leaving = setTimeout(() => {
      this.#isThere = false;
      this.begin();
    }, PATIENCE);
    await this.#window.isDrawn();
    clearTimeout(leaving);
    if (this.#isThere) return;
    this.#isThere = true;
    this.begin();
  }

  /** Requests are answered side by side: one that takes long holds no other up. */
  async #answer({ requestId, sessionId, request }: EditorRequest, client: Agents): Promise<void> {
    const answering = new AbortController();
    this.#answering.set(requestId, answering);
    const result = await this.#feel()
      .then(() => {
        // What was given up meanwhile must not be done any more.
        answering.signal.throwIfAborted();
        return this.#window.answer(request, answering.signal);
      })
      .catch((reason: unknown): Result => ({ case: "failure", value: wordsOf(reason) }));
    this.#answering.delete(requestId);
    if (answering.signal.aborted) return;
    const event = { case: "editorReply", value: { requestId, result } } as const;
    // Nobody may wait any more, or the server went away: then the stream says so too.
    await client.submitClientEvent({ sessionId, event }).catch(() => undefined);
  }

  /** One after the other, so that none overtakes a newer one. */
  #tellState(): void {
    this.#telling = this.#telling.then(() => this.#tell());
  }

  async #tell(): Promise<void> {
    const attached = this.#attached;
    const { unsaved, focused } = this.#window.state;
    const words = JSON.stringify([unsaved, focused]);
    if (attached === undefined || words === this.#told) return;
    this.#told = words;
    const value = { editorId: attached.editorId, unsaved, focused };
    try {
      await attached.client.submitClientEvent({ event: { case: "editorState", value } });
    } catch {
      // The next heartbeat tries again.
      this.#told = "";
    }
  }
}
