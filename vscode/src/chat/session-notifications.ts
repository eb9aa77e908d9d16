// Notifications about requests and ended turns while no chat is visible. A request that was answered elsewhere is
// closed.

import * as vscode from "vscode";
import type { SessionDetail, SessionSummary } from "../../../web/src/generated/portico/v1/agent_pb";
import { PermissionScope, type PermissionOption } from "../../../web/src/generated/portico/v1/events_pb";
import { noticesBetween, noticeText, type SessionNotice } from "../../../web/src/view/shell/session-notices";
import { runAndReport } from "../commands/registration";
import type { Services } from "../services";
import { sessionTitle } from "../../../web/src/model/session-summary";
import type { SessionMap } from "../sessions/session-registry";

import { DismissibleNotifications, withoutLinks } from "./dismissible-notifications";

const OPEN = "Open";

interface Question {
  readonly requestId: string;
  readonly words: string;
  /** None: the answer is longer than a button. */
  readonly options: readonly PermissionOption[];
}

export class SessionNotifications implements vscode.Disposable {
  readonly #services: Services;
  readonly #notifications = new DismissibleNotifications();
  /** Open requests, and the session that each belongs to. */
  readonly #asked = new Map<string, string>();
  /** Requests answered or dismissed outside the chat, where they may still wait. */
  readonly #seen = new Set<string>();
  readonly #watching: vscode.Disposable;
  #asking: Promise<void> = Promise.resolve();

  constructor(services: Services) {
    this.#services = services;
    const { chat, sessions } = services;
    this.#watching = vscode.Disposable.from(
      this.#notifications,
      sessions.all.listen((now, before) => this.#look(before, now)),
      // Unanswered requests are shown again when the chat is hidden.
      chat.onDidChangeVisibility(() => {
        this.#seen.clear();
        this.#look(new Map(), sessions.all.value);
      }),
    );
  }

  dispose(): void {
    this.#watching.dispose();
  }

  #look(before: SessionMap, now: SessionMap): void {
    const { chat, folders, toldElsewhere } = this.#services;
    const asking = new Set(this.#asked.values());
    if (chat.isVisible) {
      for (const requestId of this.#asked.keys()) this.#notifications.close(requestId);
      return;
    }
    for (const sessionId of new Set([...asking, ...now.keys()])) {
      const session = now.get(sessionId);
      if (session === before.get(sessionId)) continue;
      const waits = session !== undefined && session.waiting > 0 && folders.contains(session);
      // In order, so that no old state replaces a newer one.
      if (waits || asking.has(sessionId)) this.#asking = this.#asking.then(() => this.#ask(sessionId));
    }
    for (const { sessionId, kind } of noticesBetween(before, now)) {
      const session = now.get(sessionId);
      if (kind === "asks" || toldElsewhere.has(sessionId)) continue;
      if (session !== undefined && folders.contains(session)) void this.#tellEnd(session, kind);
    }
  }

  async #tellEnd(session: SessionSummary, kind: SessionNotice["kind"]): Promise<void> {
    const words = `Portico: “${withoutLinks(sessionTitle(session))}” ${noticeText(kind)}.`;
    const show = kind === "ended" ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
    if ((await show(words, OPEN)) === OPEN)
      await this.#services.chat.send({ name: "open_session", sessionId: session.sessionId });
  }

  /** Asks what a session waits for, and asks no more what it does not. */
  async #ask(sessionId: string): Promise<void> {
    const { summary, permissions = [], questions = [] } = (await this.#detail(sessionId)) ?? {};
    const open: Question[] = [
      ...permissions.map(({ requestId, title, options }) => ({ requestId, words: title, options })),
      ...questions.map(({ requestId, message }) => ({ requestId, words: message, options: [] })),
    ];
    for (const [requestId, asking] of this.#asked)
      if (asking === sessionId && !open.some((one) => one.requestId === requestId))
        this.#notifications.close(requestId);
    if (summary === undefined || this.#services.chat.isVisible) return;
    for (const question of open) void this.#show(summary, question);
  }

  /** None if it is gone, or the server: the number on the icon tells that something waited. */
  async #detail(sessionId: string): Promise<SessionDetail | undefined> {
    try {
      return (await this.#services.connection.call((client) => client.getSession({ sessionId }))).session;
    } catch {
      return undefined;
    }
  }

  async #show(session: SessionSummary, { requestId, words, options }: Question): Promise<void> {
    if (this.#asked.has(requestId) || this.#seen.has(requestId)) return;
    const { sessionId } = session;
    this.#asked.set(requestId, sessionId);
    const choices = [...options.map(({ name }) => name), OPEN];
    const asked = `Portico: “${sessionTitle(session)}” asks: ${words}`;
    const choice = await this.#notifications.show(requestId, asked, choices);
    this.#asked.delete(requestId);
    this.#seen.add(requestId);
    const option = options[choice ?? -1];
    if (option !== undefined) await this.#decide(sessionId, requestId, option.optionId);
    else if (choice !== undefined) await this.#services.chat.send({ name: "show_ask", sessionId });
  }

  async #decide(sessionId: string, requestId: string, optionId: string): Promise<void> {
    const value = { decisions: [{ requestId, optionId, scope: PermissionScope.ONCE }] };
    const event = { case: "permissionDecisions", value } as const;
    await runAndReport("answer", this.#services, () =>
      this.#services.connection.call((client) => client.submitClientEvent({ sessionId, event })),
    );
  }
}
