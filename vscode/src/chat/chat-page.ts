// One chat page in a webview, connected to the server and the editor. A hidden page is discarded together with its
// calls; it catches up from the log.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import * as vscode from "vscode";
import {
  PROTOCOL,
  type EditorCommand,
  type EditorContextPayload,
  type PageFrame,
} from "../../../web/src/gateway/webview-frames";
import type { EditorContext } from "../editor/context";
import type { Server } from "../server/server";
import { PageCalls } from "./page-calls";
import { windowSettings } from "../window-settings";
import { chatDocument } from "./page-document";
import { openFile, openLink, saveFile } from "./editor-actions";
import { FrameBatch } from "./frame-batch";
import { createReceiver, requireText } from "./frame-receiver";

/** Services of the extension that every page uses. */
export interface ChatHost {
  readonly page: vscode.Uri;
  readonly server: Server;
  readonly context: EditorContext;
  readonly log: vscode.LogOutputChannel;
  readonly workspace: () => string;
  readonly showsFront: (sessionId: string) => void;
  /** The session that a page has shown last; empty if there was none. */
  readonly lastFront: () => string;
  /** The same of the side bar alone, kept from one window to the next. */
  readonly sideBar: { readonly front: () => string; readonly shows: (sessionId: string) => void };
  /** Keeps a key that was typed into a page. Why not; empty if it did. */
  readonly storeKey: (given: unknown) => Promise<string>;
}

export class ChatPage implements vscode.Disposable {
  readonly #webview: vscode.Webview;
  readonly #host: ChatHost;
  readonly #batch: FrameBatch;
  readonly #calls: PageCalls;
  readonly #listening: vscode.Disposable;
  #commands: EditorCommand[] = [];
  #ready = false;
  #hasFailed = false;

  constructor(webview: vscode.Webview, around: ChatHost) {
    this.#webview = webview;
    this.#host = around;
    webview.options = { enableScripts: true, localResourceRoots: [around.page] };
    this.#batch = new FrameBatch((post) => void webview.postMessage(post));
    this.#calls = new PageCalls(around.server, (frame) => this.#batch.add(frame), windowSettings);
    this.#listening = vscode.Disposable.from(
      around.server.state.listen(({ state }) => this.#followServer(state)),
      around.context.listen((context) => this.#showContext(context)),
      webview.onDidReceiveMessage(
        createReceiver(
          (frame) => this.#take(frame),
          (words) => around.log.warn(words),
        ),
      ),
    );
  }

  /** Has the page do something, as soon as it is there. */
  send(command: EditorCommand): void {
    if (this.#ready) this.#batch.add({ protocol: PROTOCOL, id: 0, type: "command", payload: command });
    else this.#commands.push(command);
  }

  /** The page is out of sight. */
  hide(): void {
    this.#ready = false;
    this.#calls.detach();
    this.#batch.dispose();
  }

  dispose(): void {
    this.hide();
    this.#listening.dispose();
  }

  async show(): Promise<void> {
    const { page, workspace, lastFront } = this.#host;
    const file = vscode.Uri.joinPath(page, "build.json").fsPath;
    const { build, script, sheet } = JSON.parse(await readFile(file, "utf8")) as Record<string, string>;
    const address = (name = ""): string =>
      this.#webview.asWebviewUri(vscode.Uri.joinPath(page, name)).toString();
    this.#webview.html = chatDocument({
      build: build ?? "",
      script: address(script),
      sheet: address(sheet),
      source: this.#webview.cspSource,
      nonce: randomBytes(16).toString("base64url"),
      workspace: workspace(),
      session: lastFront(),
      showThinking: vscode.workspace.getConfiguration("portico").get("showThinking", false),
    });
  }

  /** A page that could not begin because nothing would start begins anew once something has. */
  #followServer(state: "off" | "starting" | "running" | "failed"): void {
    if (state === "failed") this.#hasFailed = true;
    if (state !== "running" || !this.#hasFailed) return;
    this.#hasFailed = false;
    if (!this.#ready) return;
    this.hide();
    void this.show();
  }

  #take(frame: PageFrame): void {
    switch (frame.type) {
      case "ready":
        this.#begin();
        break;
      case "call":
        void this.#calls.begin(frame.id, frame.payload);
        break;
      case "cancel":
        this.#calls.cancel(frame.id);
        break;
      case "front":
        this.#host.showsFront(requireText(frame.payload.sessionId));
        break;
      case "open_link":
        void openLink(frame.payload.url);
        break;
      case "open_file":
        void openFile(frame.payload.path, frame.payload.line, this.#folder(frame.payload.folder));
        break;
      case "save":
        void saveFile(frame.payload.fileName, frame.payload.content, this.#folder(frame.payload.folder));
        break;
      case "show_terminal":
        void vscode.commands.executeCommand("portico.showCommandInTerminal", frame.payload);
        break;
      case "show_review":
        void vscode.commands.executeCommand("portico.reviewChanges", frame.payload);
        break;
      case "show_tour":
        void vscode.commands.executeCommand("portico.showTour", frame.payload);
        break;
      case "mend_builds":
        void vscode.commands.executeCommand("portico.mendBuilds");
        break;
      case "set_key":
        void this.#takeKey(frame.id, frame.payload);
        break;
      case "reload":
        this.hide();
        void this.show();
        break;
      default:
        throw new Error("unknown type of frame");
    }
  }

  /** A page begins anew after every time that it was hidden, and counts its calls from one again. */
  #begin(): void {
    this.#calls.detach();
    this.#ready = true;
    this.#showContext(this.#host.context.now);
    for (const command of this.#commands.splice(0)) this.send(command);
  }

  /** The folder of the session that a wish is about, as far as the page knows it. */
  #folder(named: unknown): string {
    return typeof named === "string" && named !== "" ? named : this.#host.workspace();
  }

  async #takeKey(id: number, given: unknown): Promise<void> {
    const problem = await this.#host.storeKey(given);
    if (this.#ready) this.#batch.add({ protocol: PROTOCOL, id, type: "key_set", payload: { problem } });
  }

  #showContext(context: EditorContextPayload | null): void {
    if (!this.#ready) return;
    this.#batch.add({ protocol: PROTOCOL, id: 0, type: "editor_context", payload: context });
  }
}
