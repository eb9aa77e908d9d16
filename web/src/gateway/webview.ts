// The gateway of a page in a VS Code webview: everything goes through the extension, which knows the server.

import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { signal } from "@preact/signals";
import { AgentService } from "../generated/portico/v1/agent_pb";
import { PROTOCOL, framesFromExtension, type FromPage } from "./frames";
import { createMemory, createVault, type Store } from "./storage";
import { Tunnel } from "./tunnel";
import type { EditorContext, Gateway } from "./types";

export interface WebviewApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

/** Never asked: paths are all that the tunnel takes from an address. */
const NOWHERE = "https://portico.invalid";

export function createWebviewGateway(api: WebviewApi): Gateway {
  const post = (frame: FromPage): void => api.postMessage({ protocol: PROTOCOL, frames: [frame] });
  const tunnel = new Tunnel(post);
  const editorContext = signal<EditorContext | undefined>(undefined);
  window.addEventListener("message", (event) => {
    for (const frame of framesFromExtension(event.data)) {
      if (frame.type === "editor_context") editorContext.value = frame.payload ?? undefined;
      else tunnel.take(frame);
    }
  });
  const transport = createConnectTransport({ baseUrl: NOWHERE, useBinaryFormat: true, fetch: tunnel.fetch });
  const state = stateStore(api);
  post({ protocol: PROTOCOL, id: 0, type: "ready", payload: null });
  return {
    client: createClient(AgentService, transport),
    clientId: crypto.randomUUID(),
    pageBuild: document.querySelector<HTMLMetaElement>('meta[name="portico-build"]')?.content ?? "",
    memory: createMemory(state),
    vault: createVault(state),
    editorContext,
    openLink: (url) => post({ protocol: PROTOCOL, id: 0, type: "open_link", payload: { url } }),
    openFile: (path, line) =>
      post({ protocol: PROTOCOL, id: 0, type: "open_file", payload: { path, line: line ?? null } }),
    save: (fileName, content) =>
      post({ protocol: PROTOCOL, id: 0, type: "save", payload: { fileName, content } }),
    reload: () => post({ protocol: PROTOCOL, id: 0, type: "reload", payload: null }),
  };
}

/** A view's own state outlives hiding and reloading it, which its storage does not. */
function stateStore(api: WebviewApi): Store {
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
