// While no chat is in sight, what waits for the person and what has ended is shown as a notification with its answers.
// A question that has been answered, here or elsewhere, is not asked any longer.

import * as vscode from "vscode";
import type { SessionDetail, SessionSummary } from "../../../web/src/generated/portico/v1/agent_pb";
import { PermissionScope, type PermissionRequested } from "../../../web/src/generated/portico/v1/events_pb";
import type { Folders } from "../folders";
import { wordsOf, type Link } from "../server/link";
import type { LiveSessions, Sessions } from "../sessions/live";
import { nameOf, newsBetween, type News } from "../sessions/news";
import type { Chat } from "./chat";
import { Notes, plain, type Note } from "./notes";

const OPEN = "Open";

interface Asked {
  readonly sessionId: string;
  readonly note: Note;
}

export class Attention implements vscode.Disposable {
  readonly #chat: Chat;
  readonly #live: LiveSessions;
  readonly #link: Link;
  readonly #folders: Folders;
  readonly #notes = new Notes();
  /** What is asked at the moment, by the request. */
  readonly #asked = new Map<string, Asked>();
  /** What the person has answered out here, or put off. In the chat it may still wait. */
  readonly #seen = new Set<string>();
  readonly #watching: vscode.Disposable;

  constructor(chat: Chat, live: LiveSessions, link: Link, folders: Folders) {
    this.#chat = chat;
    this.#live = live;
    this.#link = link;
    this.#folders = folders;
    this.#watching = vscode.Disposable.from(
      this.#notes,
      new vscode.Disposable(live.sessions.listen((now, before) => this.#look(before, now))),
      // Whoever leaves a question unanswered is asked again, out here.
      chat.onDidChangeVisibility(() => {
        this.#seen.clear();
        this.#look(new Map(), this.#waiting());
      }),
    );
  }

  dispose(): void {
    this.#watching.dispose();
  }

  #waiting(): Sessions {
    return new Map([...this.#live.sessions.value].filter(([, session]) => session.waiting > 0));
  }

  #look(before: Sessions, now: Sessions): void {
    if (this.#chat.isVisible) {
      this.#settle(() => false);
      return;
    }
    for (const sessionId of new Set([...this.#asked.values()].map((asked) => asked.sessionId)))
      if (now.get(sessionId) !== before.get(sessionId)) void this.#ask(sessionId);
    for (const news of newsBetween(before, now)) {
      if (!this.#folders.isHere(news.session)) continue;
      if (news.kind === "asks") void this.#ask(news.session.sessionId);
      else void this.#showEnd(news);
    }
  }

  async #showEnd({ session, kind }: News): Promise<void> {
    const words = `Portico: “${plain(nameOf(session))}” ${kind === "ended" ? "is done." : "could not go on."}`;
    const show = kind === "ended" ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
    if ((await show(words, OPEN)) === OPEN) {
      await this.#chat.tell({ name: "open_session", sessionId: session.sessionId });
    }
  }

  /** Asks what a session waits for, and asks no more what it does not. */
  async #ask(sessionId: string): Promise<void> {
    const session = await this.#detail(sessionId);
    const permissions = session?.permissions ?? [];
    const questions = session?.questions ?? [];
    const open = new Set([...permissions, ...questions].map(({ requestId }) => requestId));
    this.#settle((requestId, asked) => asked.sessionId !== sessionId || open.has(requestId));
    if (session?.summary === undefined || this.#chat.isVisible) return;
    for (const request of permissions) this.#askPermission(session.summary, request);
    for (const { requestId, message } of questions) this.#show(session.summary, requestId, message, []);
  }

  /** None if it is gone, or the server: the number on the icon tells that something waited. */
  async #detail(sessionId: string): Promise<SessionDetail | undefined> {
    try {
      return (await this.#link.call((client) => client.getSession({ sessionId }))).session;
    } catch {
      return undefined;
    }
  }

  #settle(isOpen: (requestId: string, asked: Asked) => boolean): void {
    for (const [requestId, asked] of [...this.#asked]) if (!isOpen(requestId, asked)) asked.note.close();
  }

  #askPermission(session: SessionSummary, { requestId, title, options }: PermissionRequested): void {
    const ways = options.map(({ name, optionId }) => ({
      name,
      choose: () => this.#decide(session.sessionId, requestId, optionId),
    }));
    this.#show(session, requestId, title, ways);
  }

  #show(
    session: SessionSummary,
    requestId: string,
    question: string,
    ways: readonly { readonly name: string; readonly choose: () => Promise<void> }[],
  ): void {
    if (this.#asked.has(requestId) || this.#seen.has(requestId)) return;
    const { sessionId } = session;
    const look = { name: OPEN, choose: () => this.#chat.tell({ name: "show_ask", sessionId }) };
    const all = [...ways, look];
    const words = `Portico: “${nameOf(session)}” asks: ${question}`;
    const note = this.#notes.show(
      words,
      all.map(({ name }) => name),
    );
    this.#asked.set(requestId, { sessionId, note });
    void note.answer.then(async (choice) => {
      this.#asked.delete(requestId);
      this.#seen.add(requestId);
      await all[choice ?? -1]?.choose();
    });
  }

  async #decide(sessionId: string, requestId: string, optionId: string): Promise<void> {
    const value = { decisions: [{ requestId, optionId, scope: PermissionScope.ONCE }] };
    try {
      await this.#link.call((client) =>
        client.submitClientEvent({ sessionId, event: { case: "permissionDecisions", value } }),
      );
    } catch (reason) {
      void vscode.window.showWarningMessage(`Portico: ${plain(wordsOf(reason))}`);
    }
  }
}
