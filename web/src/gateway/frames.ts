// What the page in a VS Code webview and the extension say to each other: requests on their way to the server,
// pieces of its answers, and small wishes. The extension reads no body; it carries them.

import type { ReviewMode } from "../generated/portico/v1/agent_pb";

export const PROTOCOL = 1;

interface Framed<Type extends string, Payload> {
  readonly protocol: typeof PROTOCOL;
  /** Which call it belongs to; zero for what belongs to none. */
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
  readonly selection?: { readonly text: string; readonly startLine: number; readonly endLine: number };
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

/** What the person asks of the page from outside of it: by a command, a menu or a key of the editor. */
export type EditorCommand =
  | {
      readonly name: "new_session";
      readonly agent?: string;
      readonly mode?: ReviewMode;
      readonly workspace?: string;
      /** What it is sent at once. */
      readonly task?: string;
    }
  /** Quietly: nobody has asked for it, so the focus stays where it is. */
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
  | { readonly name: "settings" };

export type FromPage =
  | Framed<"call", CallPayload>
  | Framed<"cancel", null>
  | Framed<"ready", null>
  | Framed<"open_link", { readonly url: string }>
  | Framed<"open_file", OpenFilePayload>
  | Framed<"save", SavePayload>
  | Framed<"show_terminal", { readonly sessionId: string; readonly toolId: string }>
  | Framed<"reload", null>
  | Framed<"front", { readonly sessionId: string }>
  | Framed<"mend_builds", null>
  | Framed<"set_key", KeyPayload>;

export type FromExtension =
  | Framed<"head", HeadPayload>
  | Framed<"chunk", Uint8Array>
  | Framed<"end", null>
  | Framed<"failed", { readonly message: string }>
  | Framed<"editor_context", EditorContextPayload | null>
  | Framed<"command", EditorCommand>
  /** Why a key was not kept; empty if it was. */
  | Framed<"key_set", { readonly problem: string }>;

/** One post carries all that has come together since the last one. */
export interface Post<Frame> {
  readonly protocol: typeof PROTOCOL;
  readonly frames: readonly Frame[];
}

/** The frames of a post of the extension; none if it is not one of ours. */
export function framesFromExtension(data: unknown): readonly FromExtension[] {
  return isPost(data) ? (data.frames as FromExtension[]) : [];
}

/** The frames of a post of the page, unchecked but for their outer shape. */
export function framesFromPage(data: unknown): readonly FromPage[] {
  return isPost(data) ? (data.frames as FromPage[]) : [];
}

function isPost(data: unknown): data is { frames: unknown[] } {
  if (typeof data !== "object" || data === null || !("protocol" in data) || !("frames" in data)) return false;
  return data.protocol === PROTOCOL && Array.isArray(data.frames) && data.frames.every(isFrame);
}

function isFrame(frame: unknown): boolean {
  if (typeof frame !== "object" || frame === null || !("id" in frame) || !("type" in frame)) return false;
  return Number.isSafeInteger(frame.id) && typeof frame.type === "string" && "payload" in frame;
}
