// The @portico participant of VS Code's chat, which runs in a session of its own.

import * as vscode from "vscode";
import type { Services } from "../services";
import { errorText } from "../server/connection";
import { startAgentSession, existingSession, runTurn } from "./agent-turn";

const ID = "portico.chat";

/** Does nothing in editors without a chat. */
export function registerParticipant(services: Services): vscode.Disposable {
  const chat = vscode.chat as typeof vscode.chat | undefined;
  if (typeof chat?.createChatParticipant !== "function") return new vscode.Disposable(() => undefined);
  const participant = chat.createChatParticipant(ID, (request, { history }, response, token) =>
    answer(services, request, history, response, token),
  );
  participant.iconPath = new vscode.ThemeIcon("comment-discussion");
  return participant;
}

async function answer(
  services: Services,
  request: vscode.ChatRequest,
  history: vscode.ChatContext["history"],
  response: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<vscode.ChatResult> {
  const { connection, current, folders, sessions } = services;
  let sessionId: string | undefined;
  try {
    sessionId =
      (await existingSession(connection, earlierSession(history))) ??
      (await startAgentSession(connection, current.detail.value?.summary?.agent ?? "", folders.main));
    const session = sessions.all.value.get(sessionId);
    const nameOf = (file: vscode.Uri): string => folders.nameOf(file, session);
    const attachments = await Promise.all(request.references.map((one) => attachmentOf(one, nameOf)));
    const prompt = { sessionId, text: request.prompt, attachments: attachments.flat() };
    await runTurn(connection, prompt, token, {
      text: (words) => response.markdown(words),
      thinking: () => undefined,
      step: (words) => response.progress(words),
    });
  } catch (reason) {
    return { errorDetails: { message: errorText(reason) }, metadata: { sessionId } };
  }
  response.button({ command: "portico.openSession", title: "Open in Portico", arguments: [{ sessionId }] });
  return { metadata: { sessionId } };
}

/** The one that this conversation has been in. */
function earlierSession(history: vscode.ChatContext["history"]): unknown {
  const last = history.findLast((turn) => turn instanceof vscode.ChatResponseTurn);
  return last?.result.metadata?.["sessionId"];
}

interface Attached {
  readonly name: string;
  readonly mimeType: string;
  readonly source: { readonly case: "data"; readonly value: Uint8Array };
}

/** Text of a reference, with unsaved changes. References other than files and text are left out. */
async function attachmentOf(
  { id, value }: vscode.ChatPromptReference,
  nameOf: (file: vscode.Uri) => string,
): Promise<Attached[]> {
  if (typeof value === "string") return [textAttachment(id, value)];
  if (isBinary(value)) {
    const data = await value.data();
    return [{ name: id, mimeType: value.mimeType, source: { case: "data", value: data } }];
  }
  const uri = value instanceof vscode.Location ? value.uri : value;
  if (!(uri instanceof vscode.Uri)) return [];
  const range = value instanceof vscode.Location ? value.range : undefined;
  const lines = range === undefined ? "" : `:${range.start.line + 1}-${range.end.line + 1}`;
  try {
    const document = await vscode.workspace.openTextDocument(uri);
    return [textAttachment(`${nameOf(uri)}${lines}`, document.getText(range))];
  } catch {
    return [];
  }
}

/** An image of the chat. The published interface has no name for it yet. */
function isBinary(
  value: unknown,
): value is { readonly mimeType: string; readonly data: () => Thenable<Uint8Array> } {
  if (typeof value !== "object" || value === null || !("mimeType" in value) || !("data" in value))
    return false;
  return typeof value.mimeType === "string" && typeof value.data === "function";
}

function textAttachment(name: string, text: string): Attached {
  return { name, mimeType: "text/plain", source: { case: "data", value: new TextEncoder().encode(text) } };
}
