// A new editor beside the source, which an answer streams into.

import * as vscode from "vscode";

export class AnswerEditor {
  readonly document: vscode.TextDocument;
  #waiting = "";
  #writing: Promise<void> = Promise.resolve();

  private constructor(document: vscode.TextDocument) {
    this.document = document;
  }

  static async open(language: string): Promise<AnswerEditor> {
    const document = await vscode.workspace.openTextDocument({ language, content: "" });
    const options = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false };
    await vscode.window.showTextDocument(document, options);
    return new AnswerEditor(document);
  }

  /** Adds text at the end. What comes while VS Code writes goes with the next edit. */
  append(text: string): void {
    if (text === "") return;
    const isWriting = this.#waiting !== "";
    this.#waiting += text;
    if (!isWriting) this.#writing = this.#writing.then(() => this.#write());
  }

  /** Waits until everything is written. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    const text = this.#waiting;
    this.#waiting = "";
    if (this.document.isClosed) return;
    const edit = new vscode.WorkspaceEdit();
    const end = this.document.lineAt(this.document.lineCount - 1).range.end;
    edit.insert(this.document.uri, end, text);
    await vscode.workspace.applyEdit(edit);
  }
}
