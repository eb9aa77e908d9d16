// Gateway of a page in a browser: calls the server that it was loaded from.

import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { AgentService } from "../generated/portico/v1/agent_pb";
import { SignIn } from "./sign-in";
import { createMemory, createDraftStore } from "./storage";
import type { Gateway } from "./gateway";

const LINKS = new Set(["http:", "https:", "mailto:"]);
/** Browsers send at most 64 KB after a page has closed. */
const LAST_WORDS = 60_000;

export function createBrowserGateway(): Gateway {
  const signIn = new SignIn({ location, history, fetch: (input, init) => fetch(input, init) });
  signIn.takeToken();
  window.addEventListener("hashchange", () => signIn.takeToken());
  let leaving = false;
  window.addEventListener("pagehide", () => (leaving = true));
  window.addEventListener("pageshow", () => (leaving = false));

  const transport = createConnectTransport({
    baseUrl: location.origin,
    useBinaryFormat: true,
    fetch: async (input, init) => {
      // A page that is going away has no time to wait for anything.
      if (!leaving) await signIn.ready();
      const keepalive = leaving && init?.body instanceof Uint8Array && init.body.byteLength <= LAST_WORDS;
      return await fetch(input, { ...init, credentials: "same-origin", keepalive });
    },
  });
  return {
    client: createClient(AgentService, transport),
    clientId: crypto.randomUUID(),
    pageBuild: document.querySelector<HTMLMetaElement>('meta[name="portico-build"]')?.content ?? "",
    memory: createMemory(storage(() => localStorage)),
    draftStore: createDraftStore(storage(() => sessionStorage)),
    openLink,
    save,
    reload: () => location.reload(),
  };
}

/** Other kinds of links are not opened. */
function openLink(url: string): void {
  if (URL.canParse(url) && LINKS.has(new URL(url).protocol))
    window.open(url, "_blank", "noopener,noreferrer");
}

function save(fileName: string, content: string): void {
  const address = URL.createObjectURL(new Blob([content], { type: "text/plain;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = fileName.split("/").at(-1) ?? fileName;
  link.click();
  // The download has begun by the next task, and holds the content itself.
  setTimeout(() => URL.revokeObjectURL(address));
}

/** Accessing storage throws in browsers that forbid it. */
function storage(find: () => Storage): Storage | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}
