// Marks of inline edits in the editor: the lines that would change, what would take their place, and what can be done.

import * as vscode from "vscode";
import { fenceText } from "../commands/code-prompts";
import { hunkLabel, type EditHunk } from "./edit-hunks";

export interface MarkedEdit {
  readonly uri: vscode.Uri;
  readonly agent: string;
  readonly hunks: readonly EditHunk[];
  /** The agent's current step; empty when the edit can be decided. */
  readonly step: string;
  /** Range for which the edit was requested. */
  readonly line: number;
  /** Files of the proposal besides this one. */
  readonly others: number;
}

const { Expanded } = vscode.CommentThreadCollapsibleState;

export class EditMarks implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #controller = vscode.comments.createCommentController("portico.inlineEdit", "Portico Edit");
  readonly #replaced = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.removedLineBackground"),
    borderColor: new vscode.ThemeColor("diffEditor.removedTextBorder"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.deletedForeground"),
  });
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #edits = new Map<string, MarkedEdit>();
  readonly #threads = new Map<string, vscode.CommentThread[]>();
  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor() {
    this.#controller.options = {
      prompt: "Ask for another version",
      placeHolder: "What should be different?",
    };
  }

  show(edit: MarkedEdit): void {
    const key = edit.uri.toString();
    this.#edits.set(key, edit);
    for (const thread of this.#threads.get(key) ?? []) thread.dispose();
    this.#threads.set(
      key,
      edit.step === "" ? edit.hunks.map((hunk, index) => this.#thread(edit, hunk, index)) : [],
    );
    this.draw();
  }

  /** The same edit at other lines: the text around it has changed. */
  move(edit: MarkedEdit): void {
    const key = edit.uri.toString();
    this.#edits.set(key, edit);
    for (const [index, thread] of (this.#threads.get(key) ?? []).entries()) {
      const hunk = edit.hunks[index];
      if (hunk !== undefined) thread.range = rangeOf(hunk);
    }
    this.#changed.fire();
  }

  remove(uri: vscode.Uri): void {
    const key = uri.toString();
    for (const thread of this.#threads.get(key) ?? []) thread.dispose();
    this.#threads.delete(key);
    this.#edits.delete(key);
    this.draw();
  }

  /** Hunk of a comment. */
  hunkOf(thread: unknown): { readonly uri: vscode.Uri; readonly hunk: EditHunk } | undefined {
    for (const [key, threads] of this.#threads) {
      const index = threads.indexOf(thread as vscode.CommentThread);
      const edit = this.#edits.get(key);
      const hunk = edit?.hunks[index];
      if (index >= 0 && edit !== undefined && hunk !== undefined) return { uri: edit.uri, hunk };
    }
    return undefined;
  }

  draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { hunks = [] } = this.#edits.get(editor.document.uri.toString()) ?? {};
      const replaced = hunks.filter(({ start, end }) => end > start).map(rangeOf);
      editor.setDecorations(this.#replaced, replaced);
    }
    this.#changed.fire();
  }

  provideCodeLenses({ uri }: vscode.TextDocument): vscode.CodeLens[] {
    const edit = this.#edits.get(uri.toString());
    if (edit === undefined) return [];
    const lens = (line: number, title: string, command: string, ...given: unknown[]): vscode.CodeLens => {
      const name = command === "" ? "" : `portico.${command}`;
      return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), {
        title,
        command: name,
        arguments: given,
      });
    };
    if (edit.step !== "")
      return [
        lens(edit.line, `$(loading~spin) ${edit.step}`, ""),
        lens(edit.line, "Stop", "stopInlineEdit", uri),
      ];
    const first = edit.hunks[0]?.start ?? 0;
    const others = edit.others === 1 ? "1 Other File" : `${edit.others} Other Files`;
    return [
      ...edit.hunks.flatMap((hunk) => [
        lens(hunk.start, "$(check) Accept", "acceptInlineEdit", uri, hunk.hunkId),
        lens(hunk.start, "$(discard) Reject", "rejectInlineEdit", uri, hunk.hunkId),
      ]),
      ...(edit.hunks.length > 1
        ? [
            lens(first, "Accept All", "acceptWholeInlineEdit", uri),
            lens(first, "Reject All", "rejectWholeInlineEdit", uri),
          ]
        : []),
      lens(first, edit.others === 0 ? "Show Diff" : `Review with ${others}`, "reviewInlineEdit", uri),
    ];
  }

  dispose(): void {
    this.#controller.dispose();
    this.#replaced.dispose();
    this.#changed.dispose();
  }

  #thread({ uri, agent, hunks }: MarkedEdit, hunk: EditHunk, index: number): vscode.CommentThread {
    const language = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    const text = hunk.lines.join("\n");
    const words =
      hunk.lines.length === 0 ? "These lines are removed." : fenceText(text, language?.languageId ?? "");
    const body = new vscode.MarkdownString(words);
    const comment = { body, mode: vscode.CommentMode.Preview, author: { name: agent } };
    const thread = this.#controller.createCommentThread(uri, rangeOf(hunk), [comment]);
    const count = hunks.length === 1 ? "" : ` (${index + 1} of ${hunks.length})`;
    thread.label = `${hunkLabel(hunk)}${count}`;
    thread.contextValue = "portico.inlineEdit";
    thread.collapsibleState = Expanded;
    // VS Code opens its list of comments for those that are not resolved.
    thread.state = vscode.CommentThreadState.Resolved;
    return thread;
  }
}

/** The comment comes under the last of these lines. */
function rangeOf({ start, end }: EditHunk): vscode.Range {
  const last = end > start ? end - 1 : Math.max(0, start - 1);
  return new vscode.Range(end > start ? start : last, 0, last, 0);
}
