// Inline edits: an agent changes the file at the cursor as a proposal, which is shown, accepted and rejected there.

import * as vscode from "vscode";
import { lineRange } from "../commands/code-prompts";
import { wholeLines } from "../commands/code";
import { runTurn } from "../models/agent-turn";
import { runPrompt } from "../prompts/prompt-run";
import { errorText } from "../server/connection";
import type { Services } from "../services";
import { relativePath } from "../session-paths";
import { serverPath } from "../workspace-folders";
import { conflictMessage } from "../views/conflict-message";
import { editHunks, hunkNear, shiftHunks, type EditHunk } from "./edit-hunks";
import { EditMarks } from "./edit-marks";
import { EditQuestion, type EditRequest } from "./edit-request";

/** The built-in prompt. A folder or a person may have another one of that name. */
const PROMPT = "edit-inline";
const OPEN = "Open Chat";
const STEP_LENGTH = 60;

interface InlineEdit {
  readonly uri: vscode.Uri;
  /** As the session names the file. */
  readonly path: string;
  stop: vscode.CancellationTokenSource;
  agent: string;
  line: number;
  step: string;
  sessionId: string;
  proposalId: string;
  revision: number;
  others: number;
  hunks: readonly EditHunk[];
  /** A decision is under way: a key that is pressed twice does not decide on the next change, too. */
  isDeciding: boolean;
}

export class InlineEdits implements vscode.Disposable {
  readonly #services: Services;
  readonly #question: EditQuestion;
  readonly #marks = new EditMarks();
  readonly #edits = new Map<string, InlineEdit>();
  readonly #following: vscode.Disposable;

  constructor(services: Services, memory: vscode.Memento) {
    this.#services = services;
    this.#question = new EditQuestion(services.connection, memory);
    this.#following = vscode.Disposable.from(
      this.#marks,
      vscode.languages.registerCodeLensProvider({ scheme: "file" }, this.#marks),
      vscode.window.onDidChangeActiveTextEditor(() => this.#tellMenus()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#marks.draw()),
      vscode.workspace.onDidChangeTextDocument((change) => this.#follow(change)),
      services.current.detail.listen(() => void this.#renewAll()),
    );
  }

  /** Asks what to change at the cursor or in the selection, and has it done. */
  async begin(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (
      editor === undefined ||
      editor.document.isUntitled ||
      editor.document.uri.scheme.startsWith("portico")
    )
      throw new Error("Open a file of the folder first.");
    const { document, selection } = editor;
    if (this.#edits.has(document.uri.toString()))
      throw new Error("Accept or reject the edit in this file first.");
    const workspace = this.#services.folders.of(document.uri);
    const path = relativePath(workspace, serverPath(document.uri));
    const excerpt = { name: path, ...wholeLines(document, selection) };
    const lines = lineRange(excerpt);
    const request = await this.#question.ask(`${path}, ${lines}`, workspace);
    if (request === undefined) return;
    const edit: InlineEdit = {
      uri: document.uri,
      path,
      stop: new vscode.CancellationTokenSource(),
      agent: request.agent === "" ? "Portico" : request.agent,
      line: selection.start.line,
      step: "Editing…",
      sessionId: "",
      proposalId: "",
      revision: 0,
      others: 0,
      hunks: [],
      isDeciding: false,
    };
    this.#edits.set(document.uri.toString(), edit);
    this.#show(edit);
    await this.#work(edit, () =>
      this.#run(edit, request, workspace, { file: path, lines, input: excerpt.text }),
    );
  }

  /** Another version of what is shown. */
  async refine({ thread, text }: vscode.CommentReply): Promise<void> {
    const edit = this.#editOf(this.#marks.hunkOf(thread)?.uri);
    if (edit === undefined || edit.step !== "" || text.trim() === "") return;
    edit.step = "Editing…";
    edit.stop.dispose();
    edit.stop = new vscode.CancellationTokenSource();
    this.#show(edit);
    await this.#work(edit, async () => {
      const prompt = { sessionId: edit.sessionId, text: text.trim() };
      const listener = { text: () => undefined, thinking: () => undefined, step: this.#stepIn(edit) };
      await runTurn(this.#services.connection, prompt, edit.stop.token, listener);
      return "";
    });
  }

  stop(uri: unknown): void {
    this.#editOf(uri)?.stop.cancel();
  }

  /** A change that is named, that of a comment, or the one at the cursor; all of them if `whole`. */
  async decide(
    decision: "apply" | "discard",
    whole: boolean,
    given: unknown,
    hunkId: unknown,
  ): Promise<void> {
    const marked = this.#marks.hunkOf(given);
    const edit = this.#editOf(marked?.uri ?? given);
    if (edit === undefined || edit.step !== "") throw new Error("No edit in this file.");
    if (edit.isDeciding) return;
    const line = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    const named = typeof hunkId === "string" ? hunkId : marked?.hunk.hunkId;
    const chosen = named ?? hunkNear(edit.hunks, line)?.hunkId ?? "";
    const { sessionId, proposalId, revision, path } = edit;
    const files = [{ path, hunkIds: whole ? edit.hunks.map((one) => one.hunkId) : [chosen] }];
    edit.isDeciding = true;
    try {
      await this.#services.connection.call(async (client) => {
        const choice = { sessionId, proposalId, revision, files };
        if (decision === "discard") return await client.discardProposal(choice);
        const answer = await client.applyProposal(choice);
        if (!answer.applied) throw new Error(conflictMessage(answer.proposal));
        return answer;
      });
      await this.#load(edit);
    } finally {
      edit.isDeciding = false;
    }
    await this.#services.current.refresh();
  }

  async review(uri: unknown): Promise<void> {
    const edit = this.#editOf(uri);
    if (edit === undefined) return;
    const { sessionId, proposalId } = edit;
    await vscode.commands.executeCommand("portico.reviewChanges", { sessionId, proposalId });
  }

  dispose(): void {
    for (const { stop } of this.#edits.values()) stop.dispose();
    this.#following.dispose();
  }

  async #run(
    edit: InlineEdit,
    { agent, model, instruction }: EditRequest,
    workspace: string,
    place: Readonly<Record<string, string>>,
  ): Promise<string> {
    const request = { workspace, name: PROMPT, agent, model, values: { ...place, instruction } };
    const result = await runPrompt(this.#services.connection, request, edit.stop.token, {
      started: (sessionId) => {
        this.#services.toldElsewhere.add(sessionId);
        edit.sessionId = sessionId;
      },
      text: () => undefined,
      step: this.#stepIn(edit),
    });
    if (result.error !== "") throw new Error(result.error);
    return result.text;
  }

  /** Shows what came of it. An edit that failed, was stopped or changed nothing goes. */
  async #work(edit: InlineEdit, act: () => Promise<string>): Promise<void> {
    try {
      const answer = await act();
      edit.step = "";
      await this.#load(edit);
      if (!this.#edits.has(edit.uri.toString()) && !edit.stop.token.isCancellationRequested)
        void this.#offerChat(edit, `No change in ${edit.path}. ${answer.trim().slice(0, 300)}`.trim());
    } catch (reason) {
      edit.step = "";
      if (edit.hunks.length === 0) this.#remove(edit);
      else this.#show(edit);
      void this.#offerChat(edit, errorText(reason));
    }
  }

  async #offerChat({ sessionId }: InlineEdit, words: string): Promise<void> {
    const ways = sessionId === "" ? [] : [OPEN];
    if ((await vscode.window.showWarningMessage(`Portico: ${words}`, ...ways)) === OPEN)
      await this.#services.chat.send({ name: "open_session", sessionId });
  }

  /** Rest of the proposal for the file; if nothing is left, the edit is over. */
  async #load(edit: InlineEdit): Promise<void> {
    const { connection } = this.#services;
    const { sessionId, path } = edit;
    const { proposals } =
      sessionId === ""
        ? { proposals: [] }
        : await connection.call((client) => client.getProposal({ sessionId }));
    const proposal = proposals.findLast(({ files }) => files.some((file) => file.path === path));
    if (proposal === undefined) {
      this.#remove(edit);
      return;
    }
    const { proposalId } = proposal;
    const { contents } = await connection.call((client) =>
      client.getProposal({ sessionId, proposalId, paths: [path] }),
    );
    const file = contents.find((one) => one.path === path);
    edit.agent = this.#services.sessions.all.value.get(sessionId)?.agent ?? edit.agent;
    edit.proposalId = proposalId;
    edit.revision = proposal.revision;
    edit.others = proposal.files.length + proposal.unlisted - 1;
    edit.hunks = file === undefined ? [] : editHunks(file);
    this.#show(edit);
  }

  /** A proposal that was decided elsewhere is not shown here any more. */
  async #renewAll(): Promise<void> {
    const { summary, proposals = [] } = this.#services.current.detail.value ?? {};
    for (const edit of [...this.#edits.values()]) {
      if (edit.step !== "" || edit.sessionId !== summary?.sessionId) continue;
      const proposal = proposals.find(({ proposalId }) => proposalId === edit.proposalId);
      if (proposal?.revision !== edit.revision)
        await this.#load(edit).catch((reason: unknown) => this.#services.log.warn(errorText(reason)));
    }
  }

  #follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const edit = this.#edits.get(document.uri.toString());
    if (edit === undefined || edit.step !== "") return;
    for (const { range, text } of contentChanges)
      edit.hunks = shiftHunks(edit.hunks, {
        start: range.start.line,
        end: range.end.line + 1,
        lines: text.split("\n").length,
      });
    this.#marks.move(edit);
  }

  #stepIn(edit: InlineEdit): (words: string) => void {
    return (words) => {
      edit.step = words.slice(0, STEP_LENGTH);
      this.#show(edit);
    };
  }

  #show(edit: InlineEdit): void {
    this.#marks.show(edit);
    this.#tellMenus();
  }

  #remove(edit: InlineEdit): void {
    this.#edits.delete(edit.uri.toString());
    this.#marks.remove(edit.uri);
    edit.stop.dispose();
    this.#tellMenus();
  }

  /** Without a file, that of the editor in front. */
  #editOf(uri: unknown): InlineEdit | undefined {
    const wanted = uri instanceof vscode.Uri ? uri : vscode.window.activeTextEditor?.document.uri;
    return wanted === undefined ? undefined : this.#edits.get(wanted.toString());
  }

  #tellMenus(): void {
    const edit = this.#editOf(undefined);
    const can = edit !== undefined && edit.step === "";
    void vscode.commands.executeCommand("setContext", "portico.hasInlineEdit", can);
  }
}
