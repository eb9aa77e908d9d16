// The todos of the person's session: checked off, added, removed and moved here as well as by the agent.

import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { Progress, type Todo } from "../../../web/src/generated/portico/v1/events_pb";
import { command, sessionFor, type Parts } from "../parts";
import { added, marked, moved, movedBefore, removed, TodoEdits } from "./todo-edits";

const DRAGGED = "application/vnd.code.tree.portico.todos";

export class Todos implements vscode.TreeDataProvider<Todo>, vscode.TreeDragAndDropController<Todo> {
  readonly dragMimeTypes = [DRAGGED];
  readonly dropMimeTypes = [DRAGGED];
  readonly #parts: Parts;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  #sessionId = "";
  #edits: TodoEdits;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#edits = this.#editsOf("");
  }

  show(): vscode.Disposable {
    const view = vscode.window.createTreeView("portico.todos", {
      treeDataProvider: this,
      dragAndDropController: this,
      manageCheckboxStateManually: true,
    });
    const follow = this.#parts.current.detail.listen((detail) => {
      const { sessionId = "" } = detail?.summary ?? {};
      if (sessionId !== this.#sessionId) this.#edits = this.#editsOf(sessionId);
      this.#edits.take(detail?.todos ?? []);
    });
    const check = view.onDidChangeCheckboxState(({ items }) => {
      for (const [{ todoId }, state] of items) {
        const isDone = state === vscode.TreeItemCheckboxState.Checked;
        void vscode.commands.executeCommand("portico.markTodo", todoId, isDone);
      }
    });
    return vscode.Disposable.from(
      view,
      this.#changed,
      check,
      new vscode.Disposable(follow),
      ...this.#commands(),
    );
  }

  getChildren(node?: Todo): Todo[] {
    return node === undefined ? [...this.#edits.shown.value] : [];
  }

  getTreeItem(todo: Todo): vscode.TreeItem {
    const { Checked, Unchecked } = vscode.TreeItemCheckboxState;
    const item = new vscode.TreeItem(todo.content);
    item.id = todo.todoId;
    item.checkboxState = todo.status === Progress.COMPLETED ? Checked : Unchecked;
    item.description = todo.status === Progress.IN_PROGRESS ? "under way" : "";
    item.contextValue = "todo";
    return item;
  }

  handleDrag([todo]: readonly Todo[], data: vscode.DataTransfer): void {
    if (todo !== undefined) data.set(DRAGGED, new vscode.DataTransferItem(todo.todoId));
  }

  async handleDrop(target: Todo | undefined, data: vscode.DataTransfer): Promise<void> {
    const todoId: unknown = data.get(DRAGGED)?.value;
    await vscode.commands.executeCommand("portico.moveTodoBefore", todoId, target?.todoId);
  }

  #editsOf(sessionId: string): TodoEdits {
    this.#sessionId = sessionId;
    const edits = new TodoEdits(async (todos) => {
      const request = { sessionId, todos: [...todos] };
      return (await this.#parts.link.call((client) => client.writeTodos(request))).todos;
    });
    edits.shown.listen(() => this.#changed.fire(undefined));
    this.#changed.fire(undefined);
    return edits;
  }

  #commands(): vscode.Disposable[] {
    const parts = this.#parts;
    return [
      command("markTodo", parts, (todoId, isDone) =>
        typeof todoId === "string" ? this.#edits.edit(marked(todoId, isDone === true)) : undefined,
      ),
      command("moveTodoBefore", parts, (todoId, otherId) =>
        typeof todoId === "string"
          ? this.#edits.edit(movedBefore(todoId, typeof otherId === "string" ? otherId : undefined))
          : undefined,
      ),
      command("addTodo", parts, async () => {
        if ((await sessionFor(parts, undefined)) === undefined) return;
        const content = (
          await vscode.window.showInputBox({ title: "Add Todo", prompt: "What is to be done" })
        )?.trim();
        if (content !== undefined && content !== "") await this.#edits.edit(added(randomUUID(), content));
      }),
      command("removeTodo", parts, (todo) =>
        isTodo(todo) ? this.#edits.edit(removed(todo.todoId)) : undefined,
      ),
      command("moveTodoUp", parts, (todo) =>
        isTodo(todo) ? this.#edits.edit(moved(todo.todoId, -1)) : undefined,
      ),
      command("moveTodoDown", parts, (todo) =>
        isTodo(todo) ? this.#edits.edit(moved(todo.todoId, 1)) : undefined,
      ),
    ];
  }
}

function isTodo(given: unknown): given is Todo {
  return typeof given === "object" && given !== null && "todoId" in given;
}
