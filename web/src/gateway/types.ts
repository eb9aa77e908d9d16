// The one way from the page to the world. The browser and the VS Code webview each have their own.

import type { Client } from "@connectrpc/connect";
import type { AgentService } from "../generated/portico/v1/agent_pb";

export interface Gateway {
  readonly client: Client<typeof AgentService>;
  /** Distinguishes this page from others that show the same session. */
  readonly clientId: string;
  /** The build this page came from, compared with GetServerInfo.page_build. */
  readonly pageBuild: string;
  /** Small things that this page remembers about itself: open tabs, switches. Never words of the person. */
  readonly memory: Memory;
  openLink(url: string): void;
  /** Shows a file in the editor, where there is one. */
  readonly openFile?: (path: string, line?: number) => void;
  /** Offers a document to be saved. */
  save(fileName: string, content: string): void;
  reload(): void;
}

export interface Memory {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
}
