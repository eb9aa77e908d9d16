// Gateway of a page in a VS Code webview: everything goes through the extension.

import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { signal } from "@preact/signals";
import { AgentService } from "../generated/portico/v1/agent_pb";
import type { EditorCommand, EditorContext, Gateway, KeyStore, Memory } from "./gateway";
import { createDraftStore, createMemory, type KeyValueStore } from "./storage";
import { Tunnel } from "./tunnel";
import { framesFromExtension, PROTOCOL, type PageFrame } from "./webview-frames";

export interface WebviewApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

/** Never asked: paths are all that the tunnel takes from an address. */
const NOWHERE = "https://portico.invalid";

export function createWebviewGateway(api: WebviewApi): Gateway {
  const post = (frame: PageFrame): void => api.postMessage({ protocol: PROTOCOL, frames: [frame] });
  const tunnel = new Tunnel(post);
  const editorContext = signal<EditorContext | undefined>(undefined);
  const commands = new CommandQueue();
  const keys = new EditorKeys(post);
  window.addEventListener("message", (event) => {
    for (const frame of framesFromExtension(event.data)) {
      if (frame.type === "editor_context") editorContext.value = frame.payload ?? undefined;
      else if (frame.type === "command") commands.take(frame.payload);
      else if (frame.type === "key_set") keys.take(frame.id, frame.payload.problem);
      else tunnel.take(frame);
    }
  });
  const transport = createConnectTransport({ baseUrl: NOWHERE, useBinaryFormat: true, fetch: tunnel.fetch });
  const state = stateStore(api);
  post({ protocol: PROTOCOL, id: 0, type: "ready", payload: null });
  return {
    client: createClient(AgentService, transport),
    clientId: crypto.randomUUID(),
    pageBuild: metaContent("portico-build"),
    workspace: metaContent("portico-workspace"),
    memory: withDefaults(createMemory(state), {
      showThinking: metaContent("portico-show-thinking") === "yes",
      tabs: tabOf(metaContent("portico-session")),
    }),
    draftStore: createDraftStore(state),
    editorContext,
    keys,
    onCommand: (act) => commands.listen(act),
    reportFront: (sessionId) => post({ protocol: PROTOCOL, id: 0, type: "front", payload: { sessionId } }),
    updateBuilds: () => post({ protocol: PROTOCOL, id: 0, type: "mend_builds", payload: null }),
    openLink: (url) => post({ protocol: PROTOCOL, id: 0, type: "open_link", payload: { url } }),
    openFile: (path, line, folder) =>
      post({ protocol: PROTOCOL, id: 0, type: "open_file", payload: { path, line: line ?? null, folder } }),
    showTerminal: (sessionId, toolId) =>
      post({ protocol: PROTOCOL, id: 0, type: "show_terminal", payload: { sessionId, toolId } }),
    showReview: (sessionId, proposalId, path) =>
      post({ protocol: PROTOCOL, id: 0, type: "show_review", payload: { sessionId, proposalId, path } }),
    showTour: (sessionId, toolId, step) =>
      post({ protocol: PROTOCOL, id: 0, type: "show_tour", payload: { sessionId, toolId, step } }),
    save: (fileName, content, folder) =>
      post({ protocol: PROTOCOL, id: 0, type: "save", payload: { fileName, content, folder } }),
    reload: () => post({ protocol: PROTOCOL, id: 0, type: "reload", payload: null }),
  };
}

/** Queues commands until there is a listener. */
class CommandQueue {
  #waiting: EditorCommand[] = [];
  #act: ((command: EditorCommand) => void) | undefined;

  take(command: EditorCommand): void {
    if (this.#act === undefined) this.#waiting.push(command);
    else this.#act(command);
  }

  listen(act: (command: EditorCommand) => void): () => void {
    this.#act = act;
    for (const command of this.#waiting.splice(0)) act(command);
    return () => {
      if (this.#act === act) this.#act = undefined;
    };
  }
}

/** The editor's value holds until the person changes it in the page. */
function withDefaults(memory: Memory, values: Readonly<Record<string, unknown>>): Memory {
  return { ...memory, get: (key) => memory.get(key) ?? values[key] };
}

/** A window that closed abruptly has stored nothing, but the editor knows which session was in front. */
function tabOf(sessionId: string): unknown {
  return sessionId === "" ? undefined : { open: [sessionId], active: sessionId };
}

function metaContent(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? "";
}

/** A view's own state outlives hiding and reloading it, which its storage does not. */
function stateStore(api: WebviewApi): KeyValueStore {
  const read = (): Record<string, string> => {
    const state = api.getState();
    return typeof state === "object" && state !== null ? { ...(state as Record<string, string>) } : {};
  };
  return {
    getItem: (key) => read()[key] ?? null,
    setItem: (key, value) => api.setState({ ...read(), [key]: value }),
    removeItem: (key) => {
      api.setState(Object.fromEntries(Object.entries(read()).filter(([name]) => name !== key)));
    },
  };
}

export class EditorKeys implements KeyStore {
  readonly #post: (frame: PageFrame) => void;
  readonly #waiting = new Map<number, (problem: string) => void>();
  #last = 0;

  constructor(post: (frame: PageFrame) => void) {
    this.#post = post;
  }

  set(name: string, value: string): Promise<string> {
    const id = ++this.#last;
    return new Promise((answered) => {
      this.#waiting.set(id, answered);
      this.#post({ protocol: PROTOCOL, id, type: "set_key", payload: { name, value } });
    });
  }

  /** The editor has answered. */
  take(id: number, problem: string): void {
    this.#waiting.get(id)?.(problem);
    this.#waiting.delete(id);
  }
}
