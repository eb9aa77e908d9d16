// The page's only access to the server and its surroundings. The browser and the VS Code webview implement it.

import type { Client } from "@connectrpc/connect";
import type { ReadonlySignal } from "@preact/signals";
import type { AgentService } from "../generated/portico/v1/agent_pb";
import type { EditorCommand } from "./webview-frames";

export type { EditorCommand } from "./webview-frames";

export interface Gateway {
  readonly client: Client<typeof AgentService>;
  /** Distinguishes this page from others that show the same session. */
  readonly clientId: string;
  /** The build this page came from, compared with GetServerInfo.page_build. */
  readonly pageBuild: string;
  /** Small state of this page: open tabs, switches. Never text of the person. */
  readonly memory: Memory;
  /** Text of the person that the server does not have yet, so that a reload loses none. */
  readonly draftStore: DraftStore;
  openLink(url: string): void;
  /** Shows a file in the editor, where there is one. A path that is not whole is one of the folder. */
  readonly openFile?: (path: string, line: number | undefined, folder: string) => void;
  /** Shows what a tool call runs in a terminal of the editor, where there is one. */
  readonly showTerminal?: (sessionId: string, toolId: string) => void;
  /** Shows a proposal in the diff editor, where there is an editor. An empty path: all of its files. */
  readonly showReview?: (sessionId: string, proposalId: string, path: string) => void;
  /** Shows the steps of a tour in the editor, and the one of that index in front, where there is an editor. */
  readonly showTour?: (sessionId: string, toolId: string, step: number) => void;
  /** The active file and selection in the editor, if there is one. */
  readonly editorContext?: ReadonlySignal<EditorContext | undefined>;
  /** The folder that new sessions work in, where the page belongs to one. */
  readonly workspace?: string;
  /** Receives commands from outside the page, also those sent before this call. */
  readonly onCommand?: (act: (command: EditorCommand) => void) => () => void;
  /** Tells which session is in front. */
  readonly reportFront?: (sessionId: string) => void;
  /** Updates the page to the server's version where a reload is not enough. */
  readonly updateBuilds?: () => void;
  /** Stores model keys, if the editor does that instead of the server. */
  readonly keys?: KeyStore;
  /** Offers a document to be saved: in the folder first, where that can be said. */
  save(fileName: string, content: string, folder: string): void;
  reload(): void;
}

export interface EditorContext {
  /** The whole path. */
  readonly activeFile?: string;
  /** Of the active file, as the editor calls it. */
  readonly language?: string;
  /** Whole paths of the files in tabs. */
  readonly openFiles?: readonly string[];
  /** Problems that the editor shows, most severe first. */
  readonly problems?: readonly EditorProblem[];
  /** Lines count from one. */
  readonly selection?: { readonly text: string; readonly startLine: number; readonly endLine: number };
}

export interface EditorProblem {
  /** The whole path. */
  readonly path: string;
  /** Counts from one. */
  readonly line: number;
  readonly severity: string;
  readonly message: string;
}

export interface KeyStore {
  /** Stores a key under the variable that agents read, or removes it if empty. Returns the reason on failure, else "". */
  set(name: string, value: string): Promise<string>;
}

export interface Memory {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
}

/** Keeps text as long as this browser tab lives, reloads included. */
export interface DraftStore {
  get(key: string): string | undefined;
  /** Undefined removes the text. */
  set(key: string, words: string | undefined): void;
}
