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

export type Result = NonNullable<MessageInitShape<typeof EditorReplySchema>["result"]>;

/** What a window can do, whoever draws it. */
export interface EditorWindow {
  readonly name: string;
  readonly capabilities: MessageInitShape<typeof EditorCapabilitiesSchema>;
  /** None: there is nothing to lend, or nobody trusts it. */
  readonly folders: readonly string[];
  readonly state: { readonly unsaved: string[]; readonly focused: boolean };
  /** Fails with words for people. */
  answer(request: EditorRequest["request"], signal: AbortSignal): Promise<Result>;
}

const SETTLED = 50;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;

export class Attachment {
  readonly #server: Server;
  readonly #link: Link;
  readonly #window: EditorWindow;
  readonly #stop: () => void;
  readonly #answering = new Map<string, AbortController>();
  #attached: { readonly client: Agents; readonly editorId: string } | undefined;
  #staying: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #telling: Promise<void> = Promise.resolve();
  #told = "";

  constructor(server: Server, link: Link, window: EditorWindow) {
    this.#server = server;
    this.#link = link;
    this.#window = window;
    this.#stop = server.state.listen(({ state }) => {
      if (state === "running") this.begin();
      else if (state !== "starting") this.#leave();
    });
  }

  /** Attaches the window, or does so anew because its folders are others now. */
  begin(): void {
    this.#leave();
    if (this.#server.state.value.state !== "running" || this.#window.folders.length === 0) return;
    this.#staying = new AbortController();
    void this.#stay(this.#staying.signal);
  }

  /** Something about the window may have changed. */
  changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tellState();
    }, SETTLED);
  }

  dispose(): void {
    this.#stop();
    this.#leave();
    clearTimeout(this.#timer);
  }

  #leave(): void {
    this.#staying?.abort();
    this.#staying = undefined;
  }

  async #stay(signal: AbortSignal): Promise<void> {
    let wait = FIRST_WAIT;
    while (!signal.aborted && this.#server.state.value.state === "running") {
      try {
        await this.#link.call((client) => this.#attach(client, signal, () => (wait = FIRST_WAIT)));
      } catch {
        // A server that went away has told so to everybody; whatever else it was is tried again.
      }
      await pause(wait, signal);
      wait = Math.min(LONGEST_WAIT, wait * 2);
    }
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
    else this.changed();
  }

  /** Requests are answered side by side: one that takes long holds no other up. */
  async #answer({ requestId, sessionId, request }: EditorRequest, client: Agents): Promise<void> {
    const answering = new AbortController();
    this.#answering.set(requestId, answering);
    const result = await this.#window
      .answer(request, answering.signal)
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

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end, { once: true });
  });
}
