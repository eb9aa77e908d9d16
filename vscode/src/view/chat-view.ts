// The chat in the side bar. The page draws and remembers; here is only the way to the server and the editor.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import * as vscode from "vscode";
import {
  PROTOCOL,
  framesFromPage,
  type EditorContextPayload,
  type FromPage,
} from "../../../web/src/gateway/frames";
import type { EditorContext } from "../editor/context";
import type { Server } from "../server/server";
import { Calls } from "./calls";
import { chatDocument } from "./document";
import { openFile, openLink, save } from "./errands";
import { Posting } from "./posting";

export const CHAT_VIEW = "portico.chat";

export class ChatView implements vscode.WebviewViewProvider {
  readonly #page: vscode.Uri;
  readonly #server: Server;
  readonly #context: EditorContext;
  readonly #log: vscode.LogOutputChannel;

  constructor(extension: vscode.Uri, server: Server, context: EditorContext, log: vscode.LogOutputChannel) {
    this.#page = vscode.Uri.joinPath(extension, "dist", "page");
    this.#server = server;
    this.#context = context;
    this.#log = log;
  }

  async resolveWebviewView(view: vscode.WebviewView): Promise<void> {
    const { webview } = view;
    webview.options = { enableScripts: true, localResourceRoots: [this.#page] };
    const posting = new Posting((post) => void webview.postMessage(post));
    const calls = new Calls(this.#server, (frame) => posting.add(frame));
    const showContext = (context: EditorContextPayload | null): void =>
      posting.add({ protocol: PROTOCOL, id: 0, type: "editor_context", payload: context });
    const listening = vscode.Disposable.from(
      this.#context.listen(showContext),
      webview.onDidReceiveMessage((data: unknown) => {
        for (const frame of framesFromPage(data)) {
          if (frame.type === "ready") showContext(this.#context.now);
          else this.#take(frame, calls, webview);
        }
      }),
    );
    view.onDidDispose(() => {
      listening.dispose();
      calls.dispose();
      posting.dispose();
    });
    await this.#show(webview);
  }

  #take(frame: Exclude<FromPage, { type: "ready" }>, calls: Calls, webview: vscode.Webview): void {
    switch (frame.type) {
      case "call":
        void calls.begin(frame.id, frame.payload);
        break;
      case "cancel":
        calls.cancel(frame.id);
        break;
      case "open_link":
        void openLink(frame.payload.url);
        break;
      case "open_file":
        void openFile(frame.payload.path, frame.payload.line);
        break;
      case "save":
        void save(frame.payload.fileName, frame.payload.content);
        break;
      case "reload":
        calls.dispose();
        void this.#show(webview);
        break;
      default:
        this.#log.warn("the chat view sent a frame of an unknown kind");
    }
  }

  async #show(webview: vscode.Webview): Promise<void> {
    const file = vscode.Uri.joinPath(this.#page, "build.json").fsPath;
    const { build, script, sheet } = JSON.parse(await readFile(file, "utf8")) as Record<string, string>;
    const address = (name = ""): string =>
      webview.asWebviewUri(vscode.Uri.joinPath(this.#page, name)).toString();
    webview.html = chatDocument({
      build: build ?? "",
      script: address(script),
      sheet: address(sheet),
      source: webview.cspSource,
      nonce: randomBytes(16).toString("base64url"),
    });
  }
}
