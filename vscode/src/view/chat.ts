// The chat: in the side bar, and in as many editor tabs as a person likes. Commands go to the one they used last.

import * as vscode from "vscode";
import type { EditorCommand } from "../../../web/src/gateway/frames";
import { ChatPage, type Surroundings } from "./chat-page";

export const CHAT_VIEW = "portico.chat";
export const CHAT_PANEL = "portico.chatEditor";

interface Place {
  readonly page: ChatPage;
  readonly reveal: () => void;
  isVisible: boolean;
}

export class Chat implements vscode.WebviewViewProvider, vscode.WebviewPanelSerializer {
  readonly #around: Surroundings;
  readonly #shown = new vscode.EventEmitter<void>();
  /** The one that was used last stands last. */
  #places: Place[] = [];
  #waiting: EditorCommand[] = [];

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** A page has come into sight, or gone. */
  get onDidChangeVisibility(): vscode.Event<void> {
    return this.#shown.event;
  }

  get isVisible(): boolean {
    return this.#places.some((place) => place.isVisible);
  }

  async resolveWebviewView(view: vscode.WebviewView): Promise<void> {
    const place = this.#add(view.webview, view.visible, () => view.show(false), this.#inSideBar());
    view.onDidChangeVisibility(() => this.#see(place, view.visible));
    view.onDidDispose(() => this.#remove(place));
    // A window that goes away without a word leaves its page with the state of some time before.
    const sessionId = this.#around.sideBar.front();
    if (sessionId !== "") place.page.tell({ name: "open_session", sessionId, quietly: true });
    this.#takeWaiting(place);
    await place.page.show();
  }

  openPanel(): Promise<void> {
    const options = { enableScripts: true };
    const panel = vscode.window.createWebviewPanel(CHAT_PANEL, "Portico", vscode.ViewColumn.Active, options);
    return this.deserializeWebviewPanel(panel);
  }

  async deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    const media = vscode.Uri.joinPath(this.#around.page, "..", "..", "media");
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
  async tell(command?: EditorCommand): Promise<void> {
    const place = this.#places.findLast((one) => one.isVisible) ?? this.#places.at(-1);
    if (place === undefined) {
      if (command !== undefined) this.#waiting.push(command);
      await vscode.commands.executeCommand(`${CHAT_VIEW}.focus`);
      return;
    }
    place.reveal();
    if (command !== undefined) place.page.tell(command);
  }

  #add(webview: vscode.Webview, isVisible: boolean, reveal: () => void, around = this.#around): Place {
    const place = { page: new ChatPage(webview, around), reveal, isVisible };
    this.#places.push(place);
    this.#shown.fire();
    return place;
  }

  #inSideBar(): Surroundings {
    const showsFront = (sessionId: string): void => {
      this.#around.sideBar.shows(sessionId);
      this.#around.showsFront(sessionId);
    };
    return { ...this.#around, showsFront };
  }

  #takeWaiting(place: Place): void {
    for (const command of this.#waiting.splice(0)) place.page.tell(command);
  }

  #see(place: Place, isVisible: boolean): void {
    if (place.isVisible === isVisible) return;
    place.isVisible = isVisible;
    if (isVisible) this.#use(place);
    else place.page.hide();
    this.#shown.fire();
  }

  #use(place: Place): void {
    this.#places = [...this.#places.filter((one) => one !== place), place];
  }

  #remove(place: Place): void {
    this.#places = this.#places.filter((one) => one !== place);
    place.page.dispose();
    this.#shown.fire();
  }
}
