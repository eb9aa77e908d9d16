// Commands that run a prompt on the active file or on the selection.

import * as vscode from "vscode";
import type { KeptPrompt, PromptRunResult } from "../../../web/src/generated/portico/v1/agent_pb";
import { uriOf } from "../bridge/file-uris";
import { AnswerEditor } from "../prompts/answer-editor";
import { showResult, type PromptSource } from "../prompts/answer-actions";
import {
  askOverrides,
  askValues,
  INPUT,
  pickPrompt,
  readDefaults,
  type RunOverrides,
} from "../prompts/prompt-picker";
import { failureLog, incompleteMark, runPrompt, type RunListener } from "../prompts/prompt-run";
import type { Services } from "../services";
import { serverPath } from "../workspace-folders";
import { registerCommand } from "./registration";

/** Longer titles of a step are cut off in the progress. */
const STEP_LENGTH = 60;

interface PromptRunRequest {
  readonly workspace: string;
  readonly prompt: KeptPrompt;
  readonly values: Readonly<Record<string, string>>;
  readonly source: PromptSource;
  readonly overrides: RunOverrides;
}

export function promptCommands(services: Services): vscode.Disposable[] {
  return [
    registerCommand("runPromptOnFile", services, async () => {
      const { document } = activeEditor();
      const last = document.lineAt(document.lineCount - 1).range.end;
      await prepareRun(services, "Run Prompt on Active File", {
        document,
        range: new vscode.Range(new vscode.Position(0, 0), last),
      });
    }),
    registerCommand("runPromptOnSelection", services, async () => {
      const { document, selection } = activeEditor();
      if (selection.isEmpty) throw new Error("Select the text to run a prompt on.");
      await prepareRun(services, "Run Prompt on Selection", { document, range: selection });
    }),
  ];
}

function activeEditor(): vscode.TextEditor {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) throw new Error("Open a text file first.");
  return editor;
}

/** Every step can be left with Escape, and nothing is sent before the last. */
async function prepareRun(services: Services, title: string, source: PromptSource): Promise<void> {
  const { connection, folders } = services;
  const workspace = folders.of(source.document.uri);
  const [{ prompts }, usual] = await Promise.all([
    connection.call((client) => client.listPrompts({ workspace })),
    readDefaults(connection, workspace),
  ]);
  const prompt = await pickPrompt(prompts, workspace, usual, title);
  if (prompt === undefined) return;
  if (prompt.problem !== "") throw new Error(`The prompt ${prompt.name} cannot be used: ${prompt.problem}.`);
  const typed = await askValues(prompt);
  if (typed === undefined) return;
  const overrides = await askOverrides(connection, prompt, workspace, usual);
  if (overrides === undefined) return;
  const takesInput = prompt.variables.some(({ name }) => name === INPUT);
  const input = takesInput ? { [INPUT]: source.document.getText(source.range) } : {};
  await run(services, { workspace, prompt, values: { ...input, ...typed }, source, overrides });
}

async function run(services: Services, request: PromptRunRequest): Promise<void> {
  const { prompt, source } = request;
  const { name, output } = prompt;
  const editor = output === "editor" ? await AnswerEditor.open(answerLanguage(request)) : undefined;
  const result = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: `Running ${name}`, cancellable: true },
    (progress, token) =>
      follow(services, request, token, {
        started: (sessionId) => {
          services.toldElsewhere.add(sessionId);
          if (output === "chat") void services.chat.send({ name: "open_session", sessionId });
        },
        text: (words) => editor?.append(words),
        step: (words) => progress.report({ message: words.slice(0, STEP_LENGTH) }),
      }),
  );
  editor?.append(result.text.trim() === "" ? "" : incompleteMark(result));
  await editor?.flush();
  for (const warning of result.warnings) services.log.warn(`prompt ${name}: ${warning}`);
  if (result.error !== "") services.log.error(failureLog(name, result));
  if (result.outputPath !== "") await showBeside(result.outputPath);
  // An untrusted folder writes no files; its answer is shown all the same.
  else if (output === "file" && result.text !== "") (await AnswerEditor.open("markdown")).append(result.text);
  const values = result.savable;
  const save = () =>
    services.connection.call((client) =>
      client.saveSessionVariables({ workspace: request.workspace, values }),
    );
  await showResult(services.answers, name, source, result, save);
}

function follow(
  { connection }: Services,
  { workspace, prompt, values, source, overrides }: PromptRunRequest,
  token: vscode.CancellationToken,
  listener: RunListener,
): Promise<PromptRunResult> {
  const sourcePath = source.document.isUntitled ? "" : serverPath(source.document.uri);
  return runPrompt(
    connection,
    { workspace, name: prompt.name, values, sourcePath, ...overrides },
    token,
    listener,
  );
}

/** A prompt with the tag `code` answers in the language of its source, any other in Markdown. */
function answerLanguage({ prompt, source }: PromptRunRequest): string {
  return prompt.tags.includes("code") ? source.document.languageId : "markdown";
}

async function showBeside(path: string): Promise<void> {
  const options = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false };
  await vscode.window.showTextDocument(uriOf(path), options);
}
