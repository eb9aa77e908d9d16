// Commands about code in the editor: explain, fix, add to the chat.

import * as vscode from "vscode";
import { mentionText } from "../../../web/src/view/composer/mentions";
import { registerCommand } from "./registration";
import type { Services } from "../services";
import { explainPrompt, fixPrompt, selectionText, type CodeExcerpt } from "./code-prompts";

export function codeCommands(services: Services): vscode.Disposable[] {
  const { chat, current, folders, sessions } = services;
  const nameOf = (file: vscode.Uri): string =>
    folders.nameOf(file, sessions.all.value.get(current.chosen ?? ""));
  const placeIn = (document: vscode.TextDocument, range: vscode.Range): CodeExcerpt => ({
    name: document.isUntitled ? document.fileName : mentionText(nameOf(document.uri)),
    ...wholeLines(document, range),
  });
  return [
    registerCommand("explainSelection", services, async () => {
      const editor = vscode.window.activeTextEditor;
      if (editor !== undefined)
        await chat.send({ name: "ask", text: explainPrompt(placeIn(editor.document, editor.selection)) });
    }),
    registerCommand("fixThis", services, async (given) => {
      const found = given instanceof DiagnosticRange ? given : diagnosticsAtCursor();
      if (found === undefined) {
        await offerOtherWays();
        return;
      }
      const complaints = found.diagnostics.map(({ message, source = "" }) => ({ message, source }));
      await chat.send({ name: "ask", text: fixPrompt(placeIn(found.document, found.range), complaints) });
    }),
    registerCommand("addSelectionToChat", services, async () => {
      const editor = vscode.window.activeTextEditor;
      if (editor !== undefined)
        await chat.send({ name: "insert", text: selectionText(placeIn(editor.document, editor.selection)) });
    }),
    registerCommand("addFileToChat", services, async (uri, all) => {
      const chosen =
        Array.isArray(all) && all.length > 0 ? all : [uri ?? vscode.window.activeTextEditor?.document.uri];
      const texts = chosen.filter((one) => one instanceof vscode.Uri);
      const files = texts.filter(({ scheme }) => scheme !== "untitled");
      if (files.length === 0) throw new Error("Save the file first.");
      const words = files.map((file) => mentionText(nameOf(file)));
      await chat.send({ name: "insert", text: `${words.join(" ")} ` });
    }),
    vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new FixActions(), {
      providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
    }),
  ];
}

class DiagnosticRange {
  readonly range: vscode.Range;

  constructor(
    readonly document: vscode.TextDocument,
    range: vscode.Range,
    readonly diagnostics: readonly vscode.Diagnostic[],
  ) {
    this.range = diagnostics.reduce((whole, one) => whole.union(one.range), range);
  }
}

class FixActions implements vscode.CodeActionProvider {
  provideCodeActions(
    document: vscode.TextDocument,
    range: vscode.Range,
    { diagnostics }: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    if (diagnostics.length === 0) return [];
    const action = new vscode.CodeAction("Fix with Portico", vscode.CodeActionKind.QuickFix);
    action.diagnostics = [...diagnostics];
    const trouble = new DiagnosticRange(document, range, diagnostics);
    action.command = { command: "portico.fixThis", title: action.title, arguments: [trouble] };
    return [action];
  }
}

/** Without a problem on the line, offers the next problem in the file or an inline edit. */
async function offerOtherWays(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) throw new Error("Open a file first.");
  const next = { title: "Go to Next Problem", command: "editor.action.marker.next" };
  const others = [
    { title: "Edit Inline…", command: "portico.editInline" },
    { title: "Explain", command: "portico.explainSelection" },
  ];
  const ways = vscode.languages.getDiagnostics(editor.document.uri).length === 0 ? others : [next, ...others];
  const line = editor.selection.active.line + 1;
  const words = `Portico: VS Code reports no problem on line ${line}.`;
  const way = await vscode.window.showInformationMessage(words, ...ways);
  if (way === undefined) return;
  await vscode.window.showTextDocument(editor.document, { selection: editor.selection });
  await vscode.commands.executeCommand(way.command);
}

/** The problems at the cursor. */
function diagnosticsAtCursor(): DiagnosticRange | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return undefined;
  const { document, selection } = editor;
  const diagnostics = vscode.languages
    .getDiagnostics(document.uri)
    .filter(
      ({ range }) => range.intersection(selection) !== undefined || range.start.line === selection.start.line,
    );
  return diagnostics.length === 0 ? undefined : new DiagnosticRange(document, selection, diagnostics);
}

/** Whole lines: half a line explains nothing. Without a selection it is the line of the cursor. */
export function wholeLines(document: vscode.TextDocument, range: vscode.Range): Omit<CodeExcerpt, "name"> {
  const last =
    range.end.character === 0 && range.end.line > range.start.line ? range.end.line - 1 : range.end.line;
  const whole = new vscode.Range(range.start.line, 0, last, document.lineAt(last).text.length);
  return {
    startLine: range.start.line + 1,
    endLine: last + 1,
    language: document.languageId,
    text: document.getText(whole),
  };
}
