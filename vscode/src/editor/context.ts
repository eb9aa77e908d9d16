// Active file, selection, open tabs and problems, reported shortly after they change.

import * as vscode from "vscode";
import type { EditorContextPayload } from "../../../web/src/gateway/webview-frames";
import { serverPath } from "../workspace-folders";
import { openTabs, shownProblems } from "./open-tabs";

const SETTLED = 100;
/** A longer selection is the file itself; the agent can read that. */
const LONGEST_SELECTION = 20_000;

type Listener = (context: EditorContextPayload | null) => void;

export class EditorContext implements vscode.Disposable {
  readonly #listeners = new Set<Listener>();
  readonly #watching: vscode.Disposable;
  #timer: NodeJS.Timeout | undefined;
  #last: vscode.TextEditor | undefined = vscode.window.activeTextEditor;

  constructor() {
    this.#watching = vscode.Disposable.from(
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        // The chat itself takes the focus from the editor; what stood there is still what the person means.
        if (editor !== undefined || vscode.window.visibleTextEditors.length === 0) this.#last = editor;
        this.#changed();
      }),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        if (textEditor === this.#last) this.#changed();
      }),
      vscode.window.tabGroups.onDidChangeTabs(() => this.#changed()),
      vscode.languages.onDidChangeDiagnostics(() => this.#changed()),
    );
  }

  /** The document that is looked at. */
  get document(): vscode.TextDocument | undefined {
    return this.#last?.document;
  }

  get now(): EditorContextPayload | null {
    const editor = this.#last;
    const around = {
      openFiles: openTabs().map(serverPath),
      problems: shownProblems().map(({ uri, ...problem }) => ({ ...problem, path: serverPath(uri) })),
    };
    if (editor === undefined || editor.document.uri.scheme !== "file")
      return around.openFiles.length + around.problems.length === 0 ? null : around;
    const { document, selection } = editor;
    const shown = { ...around, activeFile: serverPath(document.uri), language: document.languageId };
    const text = document.getText(selection);
    if (text === "" || text.length > LONGEST_SELECTION) return shown;
    const startLine = selection.start.line + 1;
    // A selection of whole lines ends at the start of the next one.
    const endLine = selection.end.line + (selection.end.character === 0 ? 0 : 1);
    return { ...shown, selection: { text, startLine, endLine: Math.max(startLine, endLine) } };
  }

  listen(listener: Listener): vscode.Disposable {
    this.#listeners.add(listener);
    return new vscode.Disposable(() => this.#listeners.delete(listener));
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#watching.dispose();
  }

  #changed(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const { now } = this;
      for (const listener of this.#listeners) listener(now);
    }, SETTLED);
  }
}
