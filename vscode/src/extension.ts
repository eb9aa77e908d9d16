// Entry point of the extension. Activation starts no server; the first view or command does.

import * as vscode from "vscode";
import { registerTerminalCommand } from "./bridge/tool-terminal";
import { attachWindow, followWindow } from "./bridge/editor-window";
import { UserTerminals } from "./bridge/user-terminal";
import { codeCommands } from "./commands/code";
import { contextCommands } from "./commands/context";
import { promptCommands } from "./commands/prompts";
import { reviewCommands } from "./commands/review";
import { eventLogCommand } from "./commands/event-log";
import { serverCommands } from "./commands/server";
import { sessionCommands } from "./commands/sessions";
import { registerTaskCommand } from "./commands/tasks";
import { EditorContext } from "./editor/context";
import { writeStateFile } from "./editor/editor-state";
import { inlineEditCommands } from "./inline-edit/inline-edit-commands";
import { WorkspaceFolders } from "./workspace-folders";
import { showBranchStatus } from "./git/branch-status";
import { sendKeys, readKeys, handleKey } from "./model-keys";
import { registerParticipant } from "./models/chat-participant";
import { ModelProvider, VENDOR } from "./models/model-provider";
import { RunningTurns } from "./models/open-turns";
import { ANSWER_SCHEME, AnswerDocuments } from "./prompts/answer-documents";
import { hunkCommands } from "./review/hunk-commands";
import { PROPOSAL_SCHEME, ProposalDocuments } from "./review/proposal-documents";
import { ReviewEditors } from "./review/review-editors";
import type { Services } from "./services";
import { locateProgram } from "./server/program-locator";
import { environmentFolder, Installer } from "./server/installer";
import { ServerConnection } from "./server/connection";
import { Server } from "./server/server";
import { showStartFailures } from "./server/failure-messages";
import { CurrentSession } from "./sessions/current-session";
import { SessionRegistry } from "./sessions/session-registry";
import { configuredPort, offerRestart, serverEnvironment } from "./server-settings";
import { windowSettings } from "./window-settings";
import { showStatus } from "./status-bar";
import { SessionNotifications } from "./chat/session-notifications";
import { CHAT_PANEL, CHAT_VIEW, Chat } from "./chat/chat";
import { tourCommands } from "./tours/tour-comments";
import { showChanges } from "./views/changes";
import { showSessions } from "./views/session-list";
import { showTodos } from "./views/todos";

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Portico", { log: true });
  const editor = new EditorContext();
  const services = build(context, editor, log);
  const { server, connection, sessions, current, chat } = services;
  const turns = new RunningTurns();
  const terminals = new UserTerminals();
  const window = attachWindow(services, turns, terminals);
  const provider = new ModelProvider(services, context.globalState, { turns, window });
  context.subscriptions.push(
    log,
    editor,
    sessions,
    current,
    showStartFailures(server, log),
    showStatus(server, current),
    new SessionNotifications(services),
    writeStateFile(context, editor),
    followWindow(window, terminals),
    vscode.window.registerWebviewViewProvider(CHAT_VIEW, chat),
    vscode.window.registerWebviewPanelSerializer(CHAT_PANEL, chat),
    services.documents,
    services.reviews,
    vscode.workspace.registerTextDocumentContentProvider(PROPOSAL_SCHEME, services.documents),
    showSessions(services),
    showTodos(services),
    showChanges(services),
    ...sessionCommands(services),
    registerTaskCommand(services),
    ...promptCommands(services),
    vscode.workspace.registerTextDocumentContentProvider(ANSWER_SCHEME, services.answers),
    ...codeCommands(services),
    ...contextCommands(services),
    ...reviewCommands(services),
    ...serverCommands(services),
    eventLogCommand(services),
    ...hunkCommands(services),
    ...inlineEditCommands(services, context.workspaceState),
    registerTerminalCommand(services),
    ...tourCommands(services),
    showBranchStatus(services),
    provider,
    vscode.lm.registerLanguageModelChatProvider(VENDOR, provider),
    registerParticipant(services),
    ...followSettings(server),
    context.secrets.onDidChange(() => provider.refresh()),
    server.state.listen(({ state }) => {
      if (state === "running")
        void sendKeys(connection, context.secrets)
          .catch((error: unknown) => log.warn(String(error)))
          .finally(() => provider.refresh());
    }),
  );
}

function build(
  context: vscode.ExtensionContext,
  editor: EditorContext,
  log: vscode.LogOutputChannel,
): Services {
  const folders = new WorkspaceFolders(context.workspaceState);
  const { version: wanted } = context.extension.packageJSON as { version: string };
  const server = new Server(async () => {
    const { program, origin } = await locateProgram(environmentFolder(context));
    log.info("looking for the server", { program, origin, folder: folders.main });
    const environ = { ...process.env, ...serverEnvironment(), ...(await readKeys(context.secrets)) };
    return { program, folder: folders.main, environ, wanted, port: configuredPort() };
  });
  const connection = new ServerConnection(server, windowSettings);
  const sessions = new SessionRegistry(server, connection);
  const current = new CurrentSession(connection, sessions, {
    belongsHere: (session) => folders.contains(session),
    memory: context.workspaceState,
  });
  const chat = new Chat({
    page: vscode.Uri.joinPath(context.extensionUri, "dist", "page"),
    server,
    context: editor,
    log,
    workspace: () => folders.main,
    showsFront: (sessionId) => current.choose(sessionId),
    lastFront: () => current.chosen ?? "",
    sideBar: {
      front: () => context.workspaceState.get("sideBarSession", ""),
      shows: (sessionId) => void context.workspaceState.update("sideBarSession", sessionId),
    },
    storeKey: (given) => handleKey(connection, context.secrets, given),
  });
  const installer = new Installer(context, log);
  const documents = new ProposalDocuments(connection);
  return {
    server,
    connection: connection,
    sessions: sessions,
    current,
    chat,
    folders,
    installer,
    secrets: context.secrets,
    log,
    answers: new AnswerDocuments(),
    documents,
    reviews: new ReviewEditors(documents, sessions, current),
    toldElsewhere: new Set(),
  };
}

/** Another program, or a folder that is trusted now: the next call looks again. */
function followSettings(server: Server): vscode.Disposable[] {
  return [
    offerRestart(() => server.state.value.state === "running"),
    vscode.workspace.onDidGrantWorkspaceTrust(() => server.reset()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("portico.program")) server.reset();
    }),
  ];
}
