// Frames between the page in a VS Code webview and the extension: requests to the server, parts of its answers, and
// small commands. The extension forwards bodies without reading them.

import type { ReviewMode } from "../generated/portico/v1/agent_pb";

export const PROTOCOL = 1;

interface Frame<Type extends string, Payload> {
  readonly protocol: typeof PROTOCOL;
  /** Number of the call that it belongs to; zero if it belongs to none. */
  readonly id: number;
  readonly type: Type;
  readonly payload: Payload;
}

export interface CallPayload {
  /** A path of the service, never a whole address: the extension knows where the server is. */
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

export interface HeadPayload {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
}

export interface EditorContextPayload {
  /** The whole path: which folder it belongs to is another question in every session. */
  readonly activeFile?: string;
  readonly language?: string;
  readonly selection?: { readonly text: string; readonly startLine: number; readonly endLine: number };
  readonly openFiles?: readonly string[];
  readonly problems?: readonly {
    readonly path: string;
    readonly line: number;
    readonly severity: string;
    readonly message: string;
  }[];
}

export interface OpenFilePayload {
  readonly path: string;
  readonly line: number | null;
  /** Of the session that names the file; empty if it is not known. */
  readonly folder: string;
}

export interface SavePayload {
  readonly fileName: string;
  readonly content: string;
  /** Of the session that it is about; empty if it is not known. */
  readonly folder: string;
}

/** A key of a model that the person typed into the page. It goes this way only: nothing ever brings one back. */
export interface KeyPayload {
  /** The environment variable that agents read it from. */
  readonly name: string;
  /** Empty: forget it. */
  readonly value: string;
}

/** Commands to the page from a command, menu or key binding of the editor. */
export type EditorCommand =
  | {
      readonly name: "new_session";
      readonly agent?: string;
      readonly mode?: ReviewMode;
      readonly workspace?: string;
      /** The prompt to send at once. */
      readonly task?: string;
    }
  /** Quietly: not requested by the user, so the focus stays where it is. */
  | { readonly name: "open_session"; readonly sessionId: string; readonly quietly?: boolean }
  /** Sends words to the session in front; its draft stays as it is. */
  | { readonly name: "ask"; readonly text: string }
  /** Puts words behind those that are in the composer. */
  | { readonly name: "insert"; readonly text: string }
  | {
      readonly name: "review";
      readonly sessionId: string;
      readonly proposalId: string;
      readonly path?: string;
    }
  | { readonly name: "show_ask"; readonly sessionId: string }
  | { readonly name: "connect_model" }
  | { readonly name: "settings" }
  | { readonly name: "history" }
  | { readonly name: "board" };

export type PageFrame =
  | Frame<"call", CallPayload>
  | Frame<"cancel", null>
  | Frame<"ready", null>
  | Frame<"open_link", { readonly url: string }>
  | Frame<"open_file", OpenFilePayload>
  | Frame<"save", SavePayload>
  | Frame<"show_terminal", { readonly sessionId: string; readonly toolId: string }>
  | Frame<"show_review", { readonly sessionId: string; readonly proposalId: string; readonly path: string }>
  | Frame<"show_tour", { readonly sessionId: string; readonly toolId: string; readonly step: number }>
  | Frame<"reload", null>
  | Frame<"front", { readonly sessionId: string }>
  | Frame<"mend_builds", null>
  | Frame<"set_key", KeyPayload>;

export type ExtensionFrame =
  | Frame<"head", HeadPayload>
  | Frame<"chunk", Uint8Array>
  | Frame<"end", null>
  | Frame<"failed", { readonly message: string }>
  | Frame<"editor_context", EditorContextPayload | null>
  | Frame<"command", EditorCommand>
  /** Reason why a key was not stored; empty if it was. */
  | Frame<"key_set", { readonly problem: string }>;

/** One post carries all that has come together since the last one. */
export interface FramePost<Frame> {
  readonly protocol: typeof PROTOCOL;
  readonly frames: readonly Frame[];
}

/** The frames of a post of the extension; none if it is not one of ours. */
export function framesFromExtension(data: unknown): readonly ExtensionFrame[] {
  return isPost(data) ? (data.frames as ExtensionFrame[]) : [];
}

/** The frames of a post of the page, unchecked but for their outer shape. */
export function framesFromPage(data: unknown): readonly PageFrame[] {
  return isPost(data) ? (data.frames as PageFrame[]) : [];
}

function isPost(data: unknown): data is { frames: unknown[] } {
  if (typeof data !== "object" || data === null || !("protocol" in data) || !("frames" in data)) return false;
  return data.protocol === PROTOCOL && Array.isArray(data.frames) && data.frames.every(isFrame);
}

function isFrame(frame: unknown): boolean {
  if (typeof frame !== "object" || frame === null || !("id" in frame) || !("type" in frame)) return false;
  return Number.isSafeInteger(frame.id) && typeof frame.type === "string" && "payload" in frame;
}
