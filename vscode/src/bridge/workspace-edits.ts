// Applies file changes as one undoable step, in open documents or on disk: all of them or none.

import * as vscode from "vscode";
import type { ApplyEdits, EditedFile } from "../../../web/src/generated/portico/v1/agent_pb";
import { pathOf, readText, uriOf } from "./file-uris";
import { findChange, normalizeText, lineEndOf } from "./text-change";

/** VS Code needs a moment to notice that the file of an open text has changed. */
const NOTICED = 3_000;

export interface EditOutcome {
  readonly applied: boolean;
  readonly changed: string[];
  readonly notSaved: string[];
}

interface Prepared {
  readonly file: EditedFile;
  readonly uri: vscode.Uri;
  /** Absent for a file that is not there yet. */
  readonly document?: vscode.TextDocument;
  readonly wasSaved: boolean;
  /** Of a file that is not there yet. */
  readonly contents: Uint8Array;
}

/** Fails, and does nothing, if that is not wanted any more. */
export async function applyEdits({ label, files }: ApplyEdits, signal: AbortSignal): Promise<EditOutcome> {
  const mixed = files.find(({ content }) => lineEndOf(content ?? "") === "mixed");
  if (mixed !== undefined)
    throw new Error(`${mixed.path} has mixed line endings, which VS Code would change.`);
  const looked = await Promise.all(files.map(async (file) => ({ file, found: await prepare(file) })));
  signal.throwIfAborted();
  // From here to the edit nothing is waited for, so no key can come between them.
  const changed = looked.flatMap(({ file, found }) => (found && isUnchanged(found) ? [] : [file.path]));
  if (changed.length > 0) return { applied: false, changed, notSaved: [] };
  const all = looked.flatMap(({ found }) => found ?? []);
  const isTaken = await vscode.workspace.applyEdit(workspaceEditFor(all, label));
  const notSaved = isTaken ? await save(all) : [];
  if (isTaken && notSaved.length === 0) return { applied: true, changed: [], notSaved };
  const left = await rollBack(all);
  if (left.length + notSaved.length === 0) throw new Error("VS Code rejected the edit.");
  return { applied: false, changed: left, notSaved };
}

/** Undefined if the file does not hold what is expected. */
async function prepare(file: EditedFile): Promise<Prepared | undefined> {
  const uri = uriOf(file.path);
  const { expected, content = "" } = file;
  if (expected === undefined) {
    if (await exists(uri)) return undefined;
    return { file, uri, wasSaved: true, contents: await vscode.workspace.encode(content, { uri }) };
  }
  try {
    const document = await vscode.workspace.openTextDocument(uri);
    const found = { file, uri, document, wasSaved: !document.isDirty, contents: new Uint8Array() };
    if (document.isDirty) return found;
    const isKept = normalizeText(await onDisk(document)) === normalizeText(expected);
    return isKept && (await waitForText(document, expected)) ? found : undefined;
  } catch {
    // It is not there, or no text.
    return undefined;
  }
}

function isUnchanged({ document, file }: Prepared): boolean {
  return document === undefined || normalizeText(document.getText()) === normalizeText(file.expected ?? "");
}

/** Texts come first: if VS Code refuses them, nothing has been done. */
function workspaceEditFor(all: readonly Prepared[], label: string): vscode.WorkspaceEdit {
  const step = new vscode.WorkspaceEdit();
  const about = { label, needsConfirmation: false };
  for (const { uri, document, file } of all) {
    if (document === undefined || file.content === undefined) continue;
    const edits = editsOf(document, file.content);
    step.set(
      uri,
      edits.map((edit): [vscode.TextEdit, typeof about] => [edit, about]),
    );
  }
  for (const { uri, document, file, contents } of all) {
    if (file.content === undefined) step.deleteFile(uri, {}, about);
    else if (document === undefined) step.createFile(uri, { contents }, about);
  }
  return step;
}

function editsOf(document: vscode.TextDocument, content: string): vscode.TextEdit[] {
  const now = document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n";
  const wanted = lineEndOf(content) ?? now;
  const change = findChange(document.getText(), normalizeText(content, now));
  const edits: vscode.TextEdit[] = [];
  if (change !== undefined) {
    const range = new vscode.Range(document.positionAt(change.start), document.positionAt(change.end));
    edits.push(vscode.TextEdit.replace(range, change.text));
  }
  if (wanted !== now)
    edits.push(vscode.TextEdit.setEndOfLine(wanted === "\n" ? vscode.EndOfLine.LF : vscode.EndOfLine.CRLF));
  return edits;
}

/** Saves what was saved before. Which files could not be. */
async function save(all: readonly Prepared[]): Promise<string[]> {
  const kept = all.filter(({ file, wasSaved }) => wasSaved && file.content !== undefined);
  const failed = await Promise.all(
    kept.map(async ({ document, file }) => {
      if (document === undefined) return [];
      // One that is read-only is never unsaved, so the disk alone can tell.
      const isSaved =
        (await document.save()) ||
        normalizeText((await readText(document.uri)) ?? "") === normalizeText(document.getText());
      return isSaved ? [] : [file.path];
    }),
  );
  return failed.flat();
}

/** Rolls back a partial edit. Returns the files that were changed by others. */
async function rollBack(all: readonly Prepared[]): Promise<string[]> {
  const back = new vscode.WorkspaceEdit();
  const changed: string[] = [];
  for (const { uri, document, file } of all) {
    const { path, expected = "", content } = file;
    if (content === undefined) {
      if (!(await exists(uri)))
        back.createFile(uri, { contents: await vscode.workspace.encode(expected, { uri }) });
      continue;
    }
    const now = document?.getText() ?? (await readText(uri));
    if (now === undefined || (document !== undefined && normalizeText(now) === normalizeText(expected)))
      continue;
    if (normalizeText(now) !== normalizeText(content)) changed.push(path);
    else if (document === undefined) back.deleteFile(uri);
    else back.set(uri, editsOf(document, expected));
  }
  if (back.size > 0) await vscode.workspace.applyEdit(back);
  for (const { document, wasSaved } of all) {
    if (document?.isDirty === true && wasSaved && !(await document.save())) await revert(document);
  }
  return changed;
}

/** Of a text that cannot be saved, and holds what the disk has. VS Code reverts only what stands in front. */
async function revert(document: vscode.TextDocument): Promise<void> {
  await vscode.window.showTextDocument(document, { preserveFocus: true, preview: false });
  await vscode.commands.executeCommand("workbench.action.files.revert");
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}

async function onDisk({ uri, encoding }: vscode.TextDocument): Promise<string> {
  return await vscode.workspace.decode(await vscode.workspace.fs.readFile(uri), { encoding });
}

/** The disk has the text already, so VS Code is about to show it. */
function waitForText(document: vscode.TextDocument, expected: string): Promise<boolean> {
  const holds = (): boolean => normalizeText(document.getText()) === normalizeText(expected);
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      listening.dispose();
      resolve(holds());
    };
    const timer = setTimeout(end, NOTICED);
    const listening = vscode.workspace.onDidChangeTextDocument((change) => {
      if (change.document === document && holds()) end();
    });
    if (holds()) end();
  });
}

/** The text of a file that differs from the disk; undefined if there is none. */
export function unsavedText(path: string): string | undefined {
  return unsavedDocuments()
    .find(({ uri }) => pathOf(uri) === path)
    ?.getText();
}

export function unsavedPaths(): string[] {
  return unsavedDocuments().flatMap(({ uri }) => pathOf(uri) ?? []);
}

function unsavedDocuments(): readonly vscode.TextDocument[] {
  return vscode.workspace.textDocuments.filter(({ isDirty, isClosed }) => isDirty && !isClosed);
}
