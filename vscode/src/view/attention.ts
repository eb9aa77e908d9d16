// While no chat is in sight, what waits for the person and what has ended is shown as a notification with buttons.

import * as vscode from "vscode";
import type { SessionDetail, SessionSummary } from "../../../web/src/generated/portico/v1/agent_pb";
import { PermissionScope, type PermissionRequested } from "../../../web/src/generated/portico/v1/events_pb";
import type { Folders } from "../folders";
import { wordsOf, type Link } from "../server/link";
import type { LiveSessions, Sessions } from "../sessions/live";
import { nameOf, newsBetween, type News } from "../sessions/news";
import type { Chat } from "./chat";

const OPEN = "Open";

export class Attention implements vscode.Disposable {
  readonly #chat: Chat;
  readonly #live: LiveSessions;
  readonly #link: Link;
  readonly #folders: Folders;
  readonly #shown = new Set<string>();
  readonly #watching: vscode.Disposable;

  constructor(chat: Chat, live: LiveSessions, link: Link, folders: Folders) {
    this.#chat = chat;
    this.#live = live;
    this.#link = link;
    this.#folders = folders;
    this.#watching = vscode.Disposable.from(
      new vscode.Disposable(live.sessions.listen((now, before) => this.#look(before, now))),
      // Whoever leaves a question unanswered is told of it once more.
      chat.onDidChangeVisibility(() => this.#look(new Map(), this.#waiting())),
    );
  }

  dispose(): void {
    this.#watching.dispose();
  }

  #waiting(): Sessions {
    return new Map([...this.#live.sessions.value].filter(([, session]) => session.waiting > 0));
  }

  #look(before: Sessions, now: Sessions): void {
    if (this.#chat.isVisible) return;
    for (const news of newsBetween(before, now)) {
      if (!this.#folders.isHere(news.session)) continue;
      if (news.kind === "asks") void this.#showAsks(news.session);
      else void this.#showEnd(news);
    }
  }

  async #showEnd({ session, kind }: News): Promise<void> {
    const words = `Portico: “${nameOf(session)}” ${kind === "ended" ? "is done." : "could not go on."}`;
    const show = kind === "ended" ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
    if ((await show(words, OPEN)) === OPEN) {
      await this.#chat.tell({ name: "open_session", sessionId: session.sessionId });
    }
  }

  async #showAsks({ sessionId }: SessionSummary): Promise<void> {
    const session = await this.#detail(sessionId);
    if (session?.summary === undefined) return;
    const { summary } = session;
    for (const request of session.permissions) {
      if (this.#isNew(request.requestId)) void this.#showPermission(summary, request);
    }
    for (const { requestId, message } of session.questions) {
      if (this.#isNew(requestId)) void this.#showQuestion(summary, message);
    }
  }

  /** None if it is gone, or the server: the number on the icon tells that something waited. */
  async #detail(sessionId: string): Promise<SessionDetail | undefined> {
    try {
      return (await this.#link.call((client) => client.getSession({ sessionId }))).session;
    } catch {
      return undefined;
    }
  }

  #isNew(requestId: string): boolean {
    const isNew = !this.#shown.has(requestId);
    this.#shown.add(requestId);
    return isNew;
  }

  async #showPermission(session: SessionSummary, request: PermissionRequested): Promise<void> {
    const names = request.options.map((option) => option.name);
    const words = `Portico: “${nameOf(session)}” asks: ${request.title}`;
    const chosen = await vscode.window.showWarningMessage(words, ...names, OPEN);
    const option = request.options.find(({ name }) => name === chosen);
    if (option !== undefined) await this.#decide(session.sessionId, request.requestId, option.optionId);
    else if (chosen === OPEN) await this.#chat.tell({ name: "show_ask", sessionId: session.sessionId });
  }

  async #showQuestion(session: SessionSummary, message: string): Promise<void> {
    const words = `Portico: “${nameOf(session)}” asks: ${message}`;
    if ((await vscode.window.showWarningMessage(words, OPEN)) === OPEN)
      await this.#chat.tell({ name: "show_ask", sessionId: session.sessionId });
  }

  async #decide(sessionId: string, requestId: string, optionId: string): Promise<void> {
    const value = { decisions: [{ requestId, optionId, scope: PermissionScope.ONCE }] };
    try {
      await this.#link.call((client) =>
        client.submitClientEvent({ sessionId, event: { case: "permissionDecisions", value } }),
      );
    } catch (reason) {
      void vscode.window.showWarningMessage(`Portico: ${wordsOf(reason)}`);
    }
  }
}
