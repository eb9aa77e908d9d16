// The sessions of this window, live, newest first. Those of other folders stand under the names of these, and in a
// window with several folders all do.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import * as vscode from "vscode";
import type { SessionSummary } from "../../../web/src/generated/portico/v1/agent_pb";
import { moodOf, wordsFor, type Mood } from "../../../web/src/view/shell/state-words";
import type { Parts } from "../parts";
import { isActive, nameOf } from "../sessions/news";

export interface FolderNode {
  readonly workspace: string;
}

type Node = SessionSummary | FolderNode;

const REDRAW_EVERY = 250;
const ICONS: Readonly<Record<Mood, vscode.ThemeIcon>> = {
  quiet: new vscode.ThemeIcon("comment"),
  busy: new vscode.ThemeIcon("loading~spin"),
  waiting: new vscode.ThemeIcon("bell-dot", new vscode.ThemeColor("list.warningForeground")),
  bad: new vscode.ThemeIcon("warning", new vscode.ThemeColor("list.errorForeground")),
};

export class SessionList implements vscode.TreeDataProvider<Node> {
  readonly #parts: Parts;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  show(): vscode.Disposable {
    const view = vscode.window.createTreeView("portico.sessions", { treeDataProvider: this });
    const badge = (): void => {
      const waiting = this.#here().reduce((sum, { waiting }) => sum + waiting, 0);
      const tooltip = waiting === 1 ? "1 answer is waited for" : `${waiting} answers are waited for`;
      view.badge = waiting === 0 ? undefined : { value: waiting, tooltip };
    };
    const stop = this.#parts.live.sessions.listen(() => {
      badge();
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#changed.fire(undefined);
      }, REDRAW_EVERY);
    });
    return vscode.Disposable.from(view, this.#changed, new vscode.Disposable(stop), {
      dispose: () => clearTimeout(this.#timer),
    });
  }

  getChildren(node?: Node): Node[] {
    if (node !== undefined)
      return "sessionId" in node ? [] : this.#begun().filter((one) => one.workspace === node.workspace);
    const isSplit = this.#parts.folders.all.length > 1;
    const here = this.#here();
    const folders = [...(isSplit ? here : []), ...this.#elsewhere()].map(({ workspace }) => workspace);
    return [...(isSplit ? [] : here), ...[...new Set(folders)].map((workspace) => ({ workspace }))];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return "sessionId" in node ? sessionItem(node) : folderItem(node, this.#parts.folders.all);
  }

  #here(): SessionSummary[] {
    return this.#begun().filter((session) => this.#parts.folders.isHere(session));
  }

  #elsewhere(): SessionSummary[] {
    return this.#begun().filter((session) => !this.#parts.folders.isHere(session));
  }

  /** What nobody has said anything in yet is not worth a line. */
  #begun(): readonly SessionSummary[] {
    return this.#parts.live.newest().filter(({ isNew, hasDraft }) => !isNew || hasDraft);
  }
}

function sessionItem(session: SessionSummary): vscode.TreeItem {
  const item = new vscode.TreeItem(nameOf(session));
  const state = wordsFor(session.state);
  item.id = session.sessionId;
  item.description = [session.agent, state].filter((part) => part !== "").join(" · ");
  const at = session.updatedAt === undefined ? "" : `\n${timestampDate(session.updatedAt).toLocaleString()}`;
  item.tooltip = `${nameOf(session)}\n${session.agent}, ${state}\n${session.workspace}${at}`;
  item.iconPath = ICONS[moodOf(session.state)];
  item.contextValue = isActive(session.state) ? "activeSession" : "session";
  item.command = { command: "portico.openSession", title: "Open Session", arguments: [session] };
  return item;
}

function folderItem({ workspace }: FolderNode, open: readonly string[]): vscode.TreeItem {
  const name = workspace.split(/[\\/]/).findLast((part) => part !== "") ?? workspace;
  const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(name, open.includes(workspace) ? Expanded : Collapsed);
  item.id = `folder ${workspace}`;
  item.description = workspace;
  item.iconPath = vscode.ThemeIcon.Folder;
  return item;
}
