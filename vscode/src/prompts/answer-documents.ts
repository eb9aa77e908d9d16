// Read-only documents of answers: one side of a comparison, or a provenance.

import * as vscode from "vscode";

export const ANSWER_SCHEME = "portico-answer";
const MOST_KEPT = 50;

export class AnswerDocuments implements vscode.TextDocumentContentProvider {
  readonly #texts = new Map<string, string>();
  #count = 0;

  /** The name decides the language. */
  add(name: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({
      scheme: ANSWER_SCHEME,
      path: `/${name.replaceAll("/", "-")}`,
      query: `${++this.#count}`,
    });
    this.#texts.set(uri.toString(), text);
    const [oldest] = this.#texts.keys();
    if (this.#texts.size > MOST_KEPT && oldest !== undefined) this.#texts.delete(oldest);
    return uri;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? "This text is no longer available.";
  }
}
