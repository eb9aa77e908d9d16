// The notification after a run, and its buttons: provenance, saving, inserting, comparing.

import { basename, dirname, extname, join, parse } from "node:path";
import * as vscode from "vscode";
import type { PromptRunResult } from "../../../web/src/generated/portico/v1/agent_pb";
import { runSummary } from "../../../web/src/model/prompt-list";
import { uriOf } from "../bridge/file-uris";
import { withoutLinks } from "../chat/dismissible-notifications";
import type { AnswerDocuments } from "./answer-documents";

const SHOW_PROVENANCE = "Show Provenance";
const SAVE_AS = "Save As…";
const INSERT = "Insert";
const COMPARE = "Compare with Source";
const SAVE_VARIABLES = "Save as Session Variables…";
const MARKDOWN = [".md", ".markdown", ".mdown"];

/** The text that a prompt was run on. */
export interface PromptSource {
  readonly document: vscode.TextDocument;
  /** The whole document, unless a selection was chosen. */
  readonly range: vscode.Range;
}

/** Shows the result; the buttons can be used one after the other. */
export async function showResult(
  answers: AnswerDocuments,
  name: string,
  source: PromptSource,
  result: PromptRunResult,
  saveVariables: () => Promise<unknown>,
): Promise<void> {
  // Two notifications: VS Code shortens the labels of five buttons in one beyond recognition.
  await Promise.all([offerToSave(name, result, saveVariables), offerAnswer(answers, name, source, result)]);
}

async function offerAnswer(
  answers: AnswerDocuments,
  name: string,
  source: PromptSource,
  result: PromptRunResult,
): Promise<void> {
  const words = withoutLinks(`Portico: ${runSummary(name, result)}`);
  const show = result.complete ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
  const hasText = result.text.trim() !== "";
  for (;;) {
    const buttons = [SHOW_PROVENANCE, ...(hasText ? [SAVE_AS, INSERT, COMPARE] : [])];
    const chosen = await show(words, ...buttons);
    if (chosen === undefined) return;
    if (chosen === SHOW_PROVENANCE) await showProvenance(answers, name, result);
    if (chosen === SAVE_AS) await saveAnswer(name, source, result);
    if (chosen === INSERT) await insertAnswer(source, result.text);
    if (chosen === COMPARE) await compare(answers, name, source, result.text);
  }
}

/** Offers to save the values that were typed, until they are saved or the offer is closed. */
async function offerToSave(
  name: string,
  result: PromptRunResult,
  saveVariables: () => Promise<unknown>,
): Promise<void> {
  const names = Object.keys(result.savable);
  if (result.variablesPath === "" || names.length === 0) return;
  const words = withoutLinks(`Portico: ${name} ran with values that you can keep: ${names.join(", ")}.`);
  while ((await vscode.window.showInformationMessage(words, SAVE_VARIABLES)) !== undefined) {
    if (!(await agreesToSave(result))) continue;
    await saveVariables();
    return;
  }
}

/** Shows what would be written, and where. */
async function agreesToSave({ savable, variablesPath }: PromptRunResult): Promise<boolean> {
  const lines = Object.entries(savable).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`);
  const words = `Save as session variables in ${variablesPath}?`;
  const options = { modal: true, detail: lines.join("\n") };
  return (await vscode.window.showInformationMessage(words, options, "Save")) !== undefined;
}

async function showProvenance(
  answers: AnswerDocuments,
  name: string,
  { provenanceJson }: PromptRunResult,
): Promise<void> {
  const uri = answers.add(`${name}.provenance.json`, provenanceJson);
  await vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.Beside, preview: true });
}

/** A Markdown file has the provenance as front matter, any other has it in a file beside it. */
async function saveAnswer(name: string, { document }: PromptSource, result: PromptRunResult): Promise<void> {
  const file = `${name.replaceAll("/", "-")}.md`;
  const path = document.uri.fsPath;
  const suggested = document.isUntitled ? file : join(dirname(path), `${parse(path).name}.${file}`);
  const target = await vscode.window.showSaveDialog({ title: SAVE_AS, defaultUri: uriOf(suggested) });
  if (target === undefined) return;
  const text = `${result.text.trimEnd()}\n`;
  if (MARKDOWN.includes(extname(target.path).toLowerCase())) await write(target, result.frontMatter + text);
  else {
    await write(target, text);
    const beside = target.with({ path: `${target.path}.provenance.json` });
    await write(beside, result.provenanceJson);
  }
  await vscode.window.showTextDocument(target, { viewColumn: vscode.ViewColumn.Beside, preview: false });
}

/** At the end of what the prompt was run on, as one edit that can be undone. */
async function insertAnswer({ document, range }: PromptSource, text: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  edit.insert(document.uri, range.end, `${range.end.character === 0 ? "" : "\n"}${text.trimEnd()}\n`);
  await vscode.workspace.applyEdit(edit);
  await vscode.window.showTextDocument(document, { preview: false });
}

async function compare(
  answers: AnswerDocuments,
  name: string,
  { document, range }: PromptSource,
  text: string,
): Promise<void> {
  const file = basename(document.fileName);
  const before = answers.add(file, document.getText(range));
  const after = answers.add(file, text);
  await vscode.commands.executeCommand("vscode.diff", before, after, `${file} ↔ ${name}`);
}

async function write(target: vscode.Uri, text: string): Promise<void> {
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
}
