// Tree view of sessions, newest first. Sessions of other folders are grouped by folder, and in a window with several
// folders all are.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { basename } from "node:path";
import * as vscode from "vscode";
import type { SessionSummary } from "../../../web/src/generated/portico/v1/agent_pb";
import { isActive, moodOf, turnStateLabel, type TurnMood } from "../../../web/src/view/shell/turn-state";
import type { Services } from "../services";
import { countBadge, sessionOverview } from "./session-overview";
import { reviewText, sessionTitle } from "../../../web/src/model/session-summary";

const REDRAW_EVERY = 250;
const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
const ICONS: Readonly<Record<TurnMood, vscode.ThemeIcon>> = {
  quiet: new vscode.ThemeIcon("comment"),
  busy: new vscode.ThemeIcon("loading~spin"),
  waiting: new vscode.ThemeIcon("bell-dot", new vscode.ThemeColor("list.warningForeground")),
  bad: new vscode.ThemeIcon("warning", new vscode.ThemeColor("list.errorForeground")),
};

export function showSessions({ sessions, folders }: Services): vscode.Disposable {
  const changed = new vscode.EventEmitter<undefined>();
  let timer: NodeJS.Timeout | undefined;
  // Sessions without a prompt are not listed.
  const begun = (): SessionSummary[] =>
    sessions.newest().filter(({ isNew, hasDraft, queued }) => !isNew || hasDraft || queued > 0);
  const here = (): SessionSummary[] => begun().filter((session) => folders.contains(session));
  const roots = (): vscode.TreeItem[] => {
    const elsewhere = begun().filter((session) => !folders.contains(session));
    const [alone, filed] = folders.all.length > 1 ? [[], [...here(), ...elsewhere]] : [here(), elsewhere];
    const names = new Set(filed.map(({ workspace }) => workspace));
    const isOpen = (workspace: string): boolean => folders.all.includes(workspace);
    return [...alone.map(sessionItem), ...[...names].map((name) => new FolderNode(name, isOpen(name)))];
  };
  const treeDataProvider: vscode.TreeDataProvider<vscode.TreeItem> = {
    onDidChangeTreeData: changed.event,
    getTreeItem: (node) => node,
    getChildren: (node) =>
      node instanceof FolderNode
        ? begun()
            .filter(({ workspace }) => workspace === node.workspace)
            .map(sessionItem)
        : roots(),
  };
  const view = vscode.window.createTreeView("portico.sessions", { treeDataProvider });
  const badge = (): void => {
    const waiting = here().reduce((sum, session) => sum + session.waiting, 0);
    view.badge = countBadge(waiting, "request is waiting", "requests are waiting");
    view.description = sessionOverview(here());
  };
  const following = sessions.all.listen(() => {
    badge();
    timer ??= setTimeout(() => {
      timer = undefined;
      changed.fire(undefined);
    }, REDRAW_EVERY);
  });
  return vscode.Disposable.from(changed, view, following, { dispose: () => clearTimeout(timer) });
}

class FolderNode extends vscode.TreeItem {
  constructor(
    readonly workspace: string,
    isOpen: boolean,
  ) {
    super(basename(workspace) || workspace, isOpen ? Expanded : Collapsed);
    this.id = `folder ${workspace}`;
    this.description = workspace;
    this.iconPath = vscode.ThemeIcon.Folder;
  }
}

/** Commands take it for the session that it names. */
function sessionItem(session: SessionSummary): vscode.TreeItem {
  const { sessionId, agent, workspace, updatedAt } = session;
  const state = turnStateLabel(session.state);
  const draft = session.hasDraft ? "Draft" : "";
  const at = updatedAt === undefined ? "" : `\n${timestampDate(updatedAt).toLocaleString()}`;
  return Object.assign(new vscode.TreeItem(sessionTitle(session)), {
    sessionId,
    id: sessionId,
    description: [agent, state, reviewText(session), draft].filter((part) => part !== "").join(" · "),
    tooltip: `${sessionTitle(session)}\n${agent}, ${state}\n${workspace}${at}`,
    iconPath: ICONS[moodOf(session.state)],
    contextValue: isActive(session.state) ? "activeSession" : "session",
    command: { command: "portico.openSession", title: "Open Session", arguments: [session] },
  });
}
