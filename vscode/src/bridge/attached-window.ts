// Attaches this window to the server: answers its requests and reports the window's state. Never starts a server.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { WindowTool } from "./window-tools";
import type {
  AttachEditorResponse,
  EditorCapabilitiesSchema,
  EditorReplySchema,
  EditorRequest,
  ProblemListSchema,
} from "../../../web/src/generated/portico/v1/agent_pb";
import { errorText, type AgentClient, type ServerConnection } from "../server/connection";
import type { Server } from "../server/server";
import { ReconnectingStream } from "../server/reconnecting-stream";

export type ProblemList = MessageInitShape<typeof ProblemListSchema>;
export type EditorResult = NonNullable<MessageInitShape<typeof EditorReplySchema>["result"]>;

/** An editor window, as the server uses it. */
export interface EditorWindow {
  readonly name: string;
  readonly capabilities: MessageInitShape<typeof EditorCapabilitiesSchema>;
  /** Empty without a trusted folder. */
  readonly folders: readonly string[];
  readonly state: { readonly unsaved: string[]; readonly focused: boolean };
  /** Problems of all files that have some. */
  readonly problems: ReadonlyMap<string, ProblemList>;
  /** Tools for agents, as they are now. */
  readonly tools: WindowTool[];
  /** Resolves when the window responds, which may be never. */
  responds(): Promise<unknown>;
  /** Rejects with a message for the user. */
  answer(request: EditorRequest["request"], sessionId: string, signal: AbortSignal): Promise<EditorResult>;
}

const SETTLED = 50;
/** Language features report the problems of a file in several steps. */
const PROBLEMS_SETTLED = 300;
/** Longest time without a response before the window counts as gone. */
export const PATIENCE = 8_000;
/** Longest time to wait for the window to be attached, once the server runs. */
const ATTACHING = 5_000;

export class AttachedWindow {
  readonly #window: EditorWindow;
  readonly #stream: ReconnectingStream;
  readonly #answering = new Map<string, AbortController>();
  #attached: { readonly client: AgentClient; readonly editorId: string } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  #sent = "";
  #sentTools = "[]";
  /** Problems last sent for each file. */
  #sentProblems = new Map<string, string>();
  #problemsTimer: NodeJS.Timeout | undefined;
  readonly #waiting = new Set<() => void>();
  #checking: Promise<void> | undefined;
  #isPresent = true;

  constructor(server: Server, connection: ServerConnection, window: EditorWindow) {
    this.#window = window;
    const attach = this.#attach.bind(this);
    this.#stream = new ReconnectingStream(
      server,
      connection,
      attach,
      () => this.#isPresent && window.folders.length > 0,
    );
  }

  /** Attaches the window anew, because its folders are others now. */
  reattach(): void {
    this.#stream.restart();
  }

  /** Reports the window's state soon. */
  changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#queueState();
    }, SETTLED);
  }

  /** Offers an agent's session these tools instead of those of the window. False if the window is not attached. */
  async announceTools(sessionId: string, tools: WindowTool[]): Promise<boolean> {
    await this.#whenAttached();
    const attached = this.#attached;
    if (attached === undefined) return false;
    const value = { editorId: attached.editorId, sessionId, tools };
    await attached.client.submitClientEvent({ event: { case: "editorTools", value } });
    return true;
  }

  /** Reports the problems that have changed, once they have settled. */
  problemsChanged(): void {
    clearTimeout(this.#problemsTimer);
    this.#problemsTimer = setTimeout(() => {
      this.#sending = this.#sending.then(() => this.#sendProblems());
    }, PROBLEMS_SETTLED);
  }

  dispose(): void {
    this.#stream.dispose();
    clearTimeout(this.#timer);
    clearTimeout(this.#problemsTimer);
  }

  async #attach(client: AgentClient, signal: AbortSignal, heard: () => void): Promise<void> {
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

  #take(update: AttachEditorResponse["update"], client: AgentClient): void {
    if (update.case === "attached") {
      this.#attached = { client, editorId: update.value.editorId };
      this.#sent = "";
      this.#sentTools = "[]";
      this.#sentProblems.clear();
      this.problemsChanged();
      this.#queueState();
      this.#queueTools();
      for (const attached of this.#waiting) attached();
    } else if (update.case === "request") void this.#answer(update.value, client);
    else if (update.case === "cancelled") this.#answering.get(update.value.requestId)?.abort();
    else {
      this.changed();
      this.#queueTools();
      void this.#checkWindow();
    }
  }

  /** Detects a window whose browser tab or connection is gone, and detaches it until it responds again. */
  #checkWindow(): Promise<void> {
    this.#checking ??= this.#awaitWindow().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  async #awaitWindow(): Promise<void> {
    const leaving = setTimeout(() => {
      this.#isPresent = false;
      this.reattach();
    }, PATIENCE);
    await this.#window.responds();
    clearTimeout(leaving);
    if (this.#isPresent) return;
    this.#isPresent = true;
    this.reattach();
  }

  /** Answers requests concurrently. */
  async #answer({ requestId, sessionId, request }: EditorRequest, client: AgentClient): Promise<void> {
    const answering = new AbortController();
    this.#answering.set(requestId, answering);
    const result = await this.#checkWindow()
      .then(() => {
        // A cancelled request must not be carried out.
        answering.signal.throwIfAborted();
        return this.#window.answer(request, sessionId, answering.signal);
      })
      .catch((reason: unknown): EditorResult => ({ case: "failure", value: errorText(reason) }));
    this.#answering.delete(requestId);
    if (answering.signal.aborted) return;
    const event = { case: "editorReply", value: { requestId, result } } as const;
    // If this fails, the request is gone or the stream ends as well.
    await client.submitClientEvent({ sessionId, event }).catch(() => undefined);
  }

  /** In order, so that no old state replaces a newer one. */
  #queueState(): void {
    this.#sending = this.#sending.then(() => this.#sendState());
  }

  /** There is no event for a change, so this is called with every heartbeat. */
  #queueTools(): void {
    this.#sending = this.#sending.then(() => this.#sendTools());
  }

  async #sendTools(): Promise<void> {
    const attached = this.#attached;
    const { tools } = this.#window;
    const words = JSON.stringify(tools);
    if (attached === undefined || words === this.#sentTools) return;
    this.#sentTools = words;
    const value = { editorId: attached.editorId, tools };
    try {
      await attached.client.submitClientEvent({ event: { case: "editorTools", value } });
    } catch {
      // The next heartbeat tries again.
      this.#sentTools = "";
    }
  }

  async #sendProblems(): Promise<void> {
    const attached = this.#attached;
    if (attached === undefined) return;
    const { problems } = this.#window;
    const paths = new Set([...this.#sentProblems.keys(), ...problems.keys()]);
    const files: ProblemList[] = [];
    for (const path of paths) {
      const file = problems.get(path);
      const words = file === undefined ? undefined : JSON.stringify(file);
      if (words === this.#sentProblems.get(path)) continue;
      files.push(file ?? { path });
      if (words === undefined) this.#sentProblems.delete(path);
      else this.#sentProblems.set(path, words);
    }
    if (files.length === 0) return;
    const value = { editorId: attached.editorId, files };
    // If this fails, the stream ends as well, and the next one begins with all of them.
    await attached.client
      .submitClientEvent({ event: { case: "editorProblems", value } })
      .catch(() => undefined);
  }

  async #whenAttached(): Promise<void> {
    if (this.#attached !== undefined) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ATTACHING);
      this.#waiting.add(done);
    });
  }

  async #sendState(): Promise<void> {
    const attached = this.#attached;
    const { unsaved, focused } = this.#window.state;
    const words = JSON.stringify([unsaved, focused]);
    if (attached === undefined || words === this.#sent) return;
    this.#sent = words;
    const value = { editorId: attached.editorId, unsaved, focused };
    try {
      await attached.client.submitClientEvent({ event: { case: "editorState", value } });
    } catch {
      // The next heartbeat tries again.
      this.#sent = "";
    }
  }
}
