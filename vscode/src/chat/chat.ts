// The chat in the side bar and in editor tabs. Commands go to the one that was used last.

import * as vscode from "vscode";
import type { EditorCommand } from "../../../web/src/gateway/webview-frames";
import { ChatPage, type ChatHost } from "./chat-page";

export const CHAT_VIEW = "portico.chat";
export const CHAT_PANEL = "portico.chatEditor";

interface ChatView {
  readonly page: ChatPage;
  readonly reveal: () => void;
  isVisible: boolean;
}

export class Chat implements vscode.WebviewViewProvider, vscode.WebviewPanelSerializer {
  readonly #host: ChatHost;
  readonly #shown = new vscode.EventEmitter<void>();
  /** The one that was used last stands last. */
  #views: ChatView[] = [];
  #waiting: EditorCommand[] = [];

  constructor(around: ChatHost) {
    this.#host = around;
  }

  /** A page has come into sight, or gone. */
  get onDidChangeVisibility(): vscode.Event<void> {
    return this.#shown.event;
  }

  get isVisible(): boolean {
    return this.#views.some((place) => place.isVisible);
  }

  async resolveWebviewView(view: vscode.WebviewView): Promise<void> {
    const place = this.#add(view.webview, view.visible, () => view.show(false), this.#inSideBar());
    view.onDidChangeVisibility(() => this.#see(place, view.visible));
    view.onDidDispose(() => this.#remove(place));
    // A window that goes away without a word leaves its page with the state of some time before.
    const sessionId = this.#host.sideBar.front();
    if (sessionId !== "") place.page.send({ name: "open_session", sessionId, quietly: true });
    this.#takeWaiting(place);
    await place.page.show();
  }

  openPanel(): Promise<void> {
    const options = { enableScripts: true };
    const panel = vscode.window.createWebviewPanel(CHAT_PANEL, "Portico", vscode.ViewColumn.Active, options);
    return this.deserializeWebviewPanel(panel);
  }

  async deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    const media = vscode.Uri.joinPath(this.#host.page, "..", "..", "media");
    panel.iconPath = vscode.Uri.joinPath(media, "portico-tab.svg");
    const place = this.#add(panel.webview, panel.visible, () => panel.reveal());
    panel.onDidChangeViewState(() => {
      this.#see(place, panel.visible);
      if (panel.active) this.#use(place);
    });
    panel.onDidDispose(() => this.#remove(place));
    this.#takeWaiting(place);
    await place.page.show();
  }

  /** Shows the page that was used last, or the side bar, and has it do something. */
  async send(command?: EditorCommand): Promise<void> {
    const place = this.#views.findLast((one) => one.isVisible) ?? this.#views.at(-1);
    if (place === undefined) {
      if (command !== undefined) this.#waiting.push(command);
      await vscode.commands.executeCommand(`${CHAT_VIEW}.focus`);
      return;
    }
    place.reveal();
    if (command !== undefined) place.page.send(command);
  }

  #add(webview: vscode.Webview, isVisible: boolean, reveal: () => void, around = this.#host): ChatView {
    const place = { page: new ChatPage(webview, around), reveal, isVisible };
    this.#views.push(place);
    this.#shown.fire();
    return place;
  }

  #inSideBar(): ChatHost {
    const showsFront = (sessionId: string): void => {
      this.#host.sideBar.shows(sessionId);
      this.#host.showsFront(sessionId);
    };
    return { ...this.#host, showsFront };
  }

  #takeWaiting(place: ChatView): void {
    for (const command of this.#waiting.splice(0)) place.page.send(command);
  }

  #see(place: ChatView, isVisible: boolean): void {
    if (place.isVisible === isVisible) return;
    place.isVisible = isVisible;
    if (isVisible) this.#use(place);
    else place.page.hide();
    this.#shown.fire();
  }

  #use(place: ChatView): void {
    this.#views = [...this.#views.filter((one) => one !== place), place];
  }

  #remove(place: ChatView): void {
    this.#views = this.#views.filter((one) => one !== place);
    place.page.dispose();
    this.#shown.fire();
  }
}
