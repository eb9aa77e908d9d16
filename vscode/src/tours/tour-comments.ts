// A tour as comments at the lines of the code. A reply goes to the chat of the session that presented the tour.

import * as vscode from "vscode";
import { findLine, type Tour, type TourStep } from "../../../web/src/model/tour";
import { uriOf } from "../bridge/file-uris";
import { readId, registerCommand, registerSessionCommand } from "../commands/registration";
import type { Services } from "../services";
import { absolutePath } from "../session-paths";
import { proposedUri } from "../review/proposal-documents";
import { findTour } from "./tour-search";

const { Collapsed, Expanded } = vscode.CommentThreadCollapsibleState;

export function tourCommands(services: Services): vscode.Disposable[] {
  const comments = new TourComments(services);
  return [
    comments,
    registerSessionCommand("showTour", services, async (sessionId, given) => {
      const tour = await findTour(services.connection, sessionId, readId(given, "toolId"));
      if (tour === undefined) throw new Error("This session has no tour.");
      await comments.show(sessionId, tour, stepIn(given));
    }),
    registerCommand("nextTourStep", services, (thread) => comments.go(thread, 1)),
    registerCommand("previousTourStep", services, (thread) => comments.go(thread, -1)),
    registerCommand("closeTour", services, () => comments.close()),
    registerCommand("replyToTour", services, (reply) => comments.reply(reply as vscode.CommentReply)),
  ];
}

function stepIn(given: unknown): number {
  const step = typeof given === "object" && given !== null && "step" in given ? given.step : 0;
  return typeof step === "number" ? step : 0;
}

interface ShownTour {
  readonly sessionId: string;
  readonly tour: Tour;
  /** The comment of each step; undefined where its place is gone. */
  readonly threads: (vscode.CommentThread | undefined)[];
}

class TourComments implements vscode.Disposable {
  readonly #services: Services;
  readonly #controller = vscode.comments.createCommentController("portico.tour", "Portico Tour");
  #shown: ShownTour | undefined;

  constructor(services: Services) {
    this.#services = services;
    this.#controller.options = { prompt: "Ask about this step", placeHolder: "Your reply goes to the chat" };
  }

  /** Puts a comment at each step's place, and brings one of them to the front. */
  async show(sessionId: string, tour: Tour, index: number): Promise<void> {
    if (this.#shown === undefined || !isSame(this.#shown, sessionId, tour)) {
      this.close();
      const shown: ShownTour = { sessionId, tour, threads: [] };
      this.#shown = shown;
      await Promise.all(tour.steps.map((_, at) => this.#place(shown, at)));
    }
    await this.#reveal(this.#shown, index);
  }

  async go(thread: unknown, by: number): Promise<void> {
    if (this.#shown === undefined) return;
    const now = this.#shown.threads.indexOf(thread as vscode.CommentThread);
    await this.#reveal(this.#shown, now + by);
  }

  /** Sends what the person wrote to the session, with the place that it is about. */
  async reply({ thread, text }: vscode.CommentReply): Promise<void> {
    const index = this.#shown?.threads.indexOf(thread) ?? -1;
    const step = this.#shown?.tour.steps[index];
    if (this.#shown === undefined || step === undefined || text.trim() === "") return;
    const { sessionId, tour } = this.#shown;
    thread.comments = [...thread.comments, commentOf(text, "You")];
    const place = `${step.path}:${(thread.range?.start.line ?? 0) + 1}`;
    const { chat } = this.#services;
    await chat.send({ name: "open_session", sessionId, quietly: true });
    await chat.send({ name: "ask", text: `At ${place} (step ${index + 1} of “${tour.title}”): ${text}` });
  }

  close(): void {
    for (const thread of this.#shown?.threads ?? []) thread?.dispose();
    this.#shown = undefined;
  }

  dispose(): void {
    this.close();
    this.#controller.dispose();
  }

  /** Has the comment of a step where the step is now: lines may have moved, and a proposal been applied. */
  async #place({ sessionId, tour, threads }: ShownTour, index: number): Promise<vscode.Range | undefined> {
    const step = tour.steps[index];
    const document = step && step.line > 0 ? await this.#document(sessionId, step) : undefined;
    const line = step && document && findLine(document.getText().split(/\r?\n/), step);
    const known = threads[index];
    if (document === undefined || line === undefined || step === undefined) {
      known?.dispose();
      threads[index] = undefined;
      return undefined;
    }
    const range = new vscode.Range(line - 1, 0, line - 1, 0);
    if (known?.uri.toString() === document.uri.toString()) known.range = range;
    else {
      known?.dispose();
      const comments = [commentOf(step.text, tour.title)];
      const thread = this.#controller.createCommentThread(document.uri, range, comments);
      thread.label = `Step ${index + 1} of ${tour.steps.length}`;
      thread.contextValue = "portico.tour";
      thread.collapsibleState = Collapsed;
      threads[index] = thread;
    }
    return range;
  }

  /** The text that a step is about: as an open proposal has it, else as the editor has it. */
  async #document(sessionId: string, step: TourStep): Promise<vscode.TextDocument | undefined> {
    const { session } = await this.#services.connection.call((client) => client.getSession({ sessionId }));
    const proposal = session?.proposals.find(({ files }) => files.some(({ path }) => path === step.path));
    const folder = session?.summary?.workspace ?? this.#services.folders.main;
    const uri =
      proposal === undefined
        ? uriOf(absolutePath(folder, step.path))
        : proposedUri({ ...proposal, sessionId, path: step.path, side: "new" });
    try {
      return await vscode.workspace.openTextDocument(uri);
    } catch {
      return undefined;
    }
  }

  async #reveal(shown: ShownTour, index: number): Promise<void> {
    const { tour, threads } = shown;
    const step = tour.steps[index];
    if (step === undefined) return;
    const selection = await this.#place(shown, index);
    const thread = threads[index];
    if (selection === undefined || thread === undefined) {
      const reason = step.problem === "" ? `Its place is not in ${step.path} any more.` : step.problem;
      void vscode.window.showWarningMessage(`Portico: Step ${index + 1} cannot be shown. ${reason}`);
      return;
    }
    for (const other of threads) if (other !== undefined) other.collapsibleState = Collapsed;
    thread.collapsibleState = Expanded;
    // The keys of the chat page go on with the tour.
    await vscode.window.showTextDocument(thread.uri, { selection, preview: true, preserveFocus: true });
  }
}

function isSame(shown: ShownTour, sessionId: string, tour: Tour): boolean {
  return shown.sessionId === sessionId && JSON.stringify(shown.tour) === JSON.stringify(tour);
}

function commentOf(text: string, name: string): vscode.Comment {
  return { body: new vscode.MarkdownString(text), mode: vscode.CommentMode.Preview, author: { name } };
}
