// The extension begins here. It starts nothing until somebody looks at it.

import * as vscode from "vscode";
import { hunkCommands } from "./bridge/hunks";
import { terminalCommand } from "./bridge/tool-terminal";
import { lendWindow } from "./bridge/window";
import { codeCommands } from "./commands/code";
import { reviewCommands } from "./commands/review";
import { serverCommands } from "./commands/server";
import { sessionCommands } from "./commands/sessions";
import { taskCommand } from "./commands/tasks";
import { EditorContext } from "./editor/context";
import { keepStateFile } from "./editor/state";
import { Folders } from "./folders";
import { showWork } from "./git/work";
import { giveKeys, keysIn, takeKey } from "./keys";
import { takePart } from "./models/participant";
import { Provider, VENDOR } from "./models/provider";
import type { Parts } from "./parts";
import { findHere } from "./server/finding";
import { environmentFolder, Installing } from "./server/installing";
import { Link } from "./server/link";
import { Server } from "./server/server";
import { tellTroubles } from "./server/telling";
import { CurrentSession } from "./sessions/current";
import { LiveSessions } from "./sessions/live";
import { chosenPort, offerRestart, serverEnvironment } from "./settings";
import { showStatus } from "./status-bar";
import { Attention } from "./view/attention";
import { CHAT_PANEL, CHAT_VIEW, Chat } from "./view/chat";
import { showChanges } from "./views/changes";
import { PROPOSAL_SCHEME, ProposedTexts } from "./views/proposal-diff";
import { showSessions } from "./views/session-list";
import { showTodos } from "./views/todos";

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Portico", { log: true });
  const editor = new EditorContext();
  const parts = build(context, editor, log);
  const { server, link, live, current, chat } = parts;
  const provider = new Provider(parts, context.globalState);
  context.subscriptions.push(
    log,
    editor,
    live,
    current,
    tellTroubles(server, log),
    showStatus(server, current),
    new Attention(parts),
    keepStateFile(context, editor),
    lendWindow(parts),
    vscode.window.registerWebviewViewProvider(CHAT_VIEW, chat),
    vscode.window.registerWebviewPanelSerializer(CHAT_PANEL, chat),
    vscode.workspace.registerTextDocumentContentProvider(PROPOSAL_SCHEME, new ProposedTexts(link)),
    showSessions(parts),
    showTodos(parts),
    showChanges(parts),
    ...sessionCommands(parts),
    taskCommand(parts),
    ...codeCommands(parts),
    ...reviewCommands(parts),
    ...serverCommands(parts),
    ...hunkCommands(parts),
    terminalCommand(parts),
    showWork(parts),
    provider,
    vscode.lm.registerLanguageModelChatProvider(VENDOR, provider),
    takePart(parts),
    ...followSettings(server),
    context.secrets.onDidChange(() => provider.refresh()),
    server.state.listen(({ state }) => {
      if (state === "running")
        void giveKeys(link, context.secrets)
          .catch((error: unknown) => log.warn(String(error)))
          .finally(() => provider.refresh());
    }),
  );
}

function build(context: vscode.ExtensionContext, editor: EditorContext, log: vscode.LogOutputChannel): Parts {
  const folders = new Folders(context.workspaceState);
  const { version: wanted } = context.extension.packageJSON as { version: string };
  const server = new Server(async () => {
    const { program, origin } = await findHere(environmentFolder(context));
    log.info("the server is looked for, or started", { program, origin, folder: folders.main });
    const environ = { ...process.env, ...serverEnvironment(), ...(await keysIn(context.secrets)) };
    return { program, folder: folders.main, environ, wanted, port: chosenPort() };
  });
  const link = new Link(server);
  const live = new LiveSessions(server, link);
  const current = new CurrentSession(link, live, {
    isHere: (session) => folders.isHere(session),
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
    takeKey: (given) => takeKey(link, context.secrets, given),
  });
  const installing = new Installing(context, log);
  return { server, link, live, current, chat, folders, installing, secrets: context.secrets, log };
}

/** Another program, or a folder that is trusted now: the next call looks again. */
function followSettings(server: Server): vscode.Disposable[] {
  return [
    offerRestart(() => server.state.value.state === "running"),
    vscode.workspace.onDidGrantWorkspaceTrust(() => server.forget()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("portico.program")) server.forget();
    }),
  ];
}
