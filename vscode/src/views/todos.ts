// Tree view of the todos of the current session.

import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { Progress, type Todo } from "../../../web/src/generated/portico/v1/events_pb";
import { runAndReport, registerCommand, readId, resolveSession } from "../commands/registration";
import type { Services } from "../services";
import {
  addTodo,
  markTodo,
  moveTodo,
  moveTodoBefore,
  removeTodo,
  renameTodo,
  TodoEdits,
  type TodoEdit,
} from "./todo-edits";

const DRAGGED = "application/vnd.code.tree.portico.todos";
const { Checked, Unchecked } = vscode.TreeItemCheckboxState;

type Change = (edit: TodoEdit) => Promise<void>;

export function showTodos(services: Services): vscode.Disposable {
  const { current, connection } = services;
  const redrawn = new vscode.EventEmitter<undefined>();
  const editsOf = (sessionId: string): TodoEdits => {
    const made = new TodoEdits(async (todos) => {
      const request = { sessionId, todos: [...todos] };
      return (await connection.call((client) => client.writeTodos(request))).todos;
    });
    made.shown.listen(() => redrawn.fire(undefined));
    return made;
  };
  let shown = "";
  let edits = editsOf(shown);
  const change: Change = (edit) => edits.edit(edit);
  const tried: Change = (edit) => runAndReport("change todos", services, () => edits.edit(edit));
  const view = vscode.window.createTreeView<Todo>("portico.todos", {
    treeDataProvider: {
      onDidChangeTreeData: redrawn.event,
      getTreeItem: todoItem,
      getChildren: (node) => (node === undefined ? [...edits.shown.value] : []),
    },
    dragAndDropController: dragging(tried),
    manageCheckboxStateManually: true,
  });
  return vscode.Disposable.from(
    redrawn,
    view,
    view.onDidChangeCheckboxState(({ items }) => {
      for (const [{ todoId }, state] of items) void tried(markTodo(todoId, state === Checked));
    }),
    current.detail.listen((detail) => {
      const { sessionId = "" } = detail?.summary ?? {};
      if (sessionId !== shown) {
        shown = sessionId;
        edits = editsOf(sessionId);
        redrawn.fire(undefined);
      }
      edits.take(detail?.todos ?? []);
    }),
    ...todoCommands(services, change),
  );
}

function dragging(change: Change): vscode.TreeDragAndDropController<Todo> {
  return {
    dragMimeTypes: [DRAGGED],
    dropMimeTypes: [DRAGGED],
    handleDrag: ([todo], data) => {
      if (todo !== undefined) data.set(DRAGGED, new vscode.DataTransferItem(todo.todoId));
    },
    handleDrop: async (target, data) => {
      const todoId: unknown = data.get(DRAGGED)?.value;
      if (typeof todoId === "string") await change(moveTodoBefore(todoId, target?.todoId));
    },
  };
}

function todoCommands(services: Services, change: Change): vscode.Disposable[] {
  const onTodo = (name: string, editOf: (todoId: string) => TodoEdit): vscode.Disposable =>
    registerCommand(name, services, async (given) => {
      const todoId = readId(given, "todoId");
      if (todoId !== undefined) await change(editOf(todoId));
    });
  return [
    registerCommand("addTodo", services, async () => {
      if ((await resolveSession(services, undefined)) === undefined) return;
      const asked = { title: "Add Todo", prompt: "Describe the task" };
      const content = (await vscode.window.showInputBox(asked))?.trim() ?? "";
      if (content !== "") await change(addTodo(randomUUID(), content));
    }),
    registerCommand("editTodo", services, async (given) => {
      const todoId = readId(given, "todoId");
      const todo = services.current.detail.value?.todos.find((one) => one.todoId === todoId);
      if (todoId === undefined || todo === undefined) return;
      const asked = { title: "Edit Todo", prompt: "Describe the task", value: todo.content };
      const content = (await vscode.window.showInputBox(asked))?.trim() ?? "";
      if (content !== "") await change(renameTodo(todoId, content));
    }),
    onTodo("removeTodo", removeTodo),
    onTodo("moveTodoUp", (todoId) => moveTodo(todoId, -1)),
    onTodo("moveTodoDown", (todoId) => moveTodo(todoId, 1)),
  ];
}

function todoItem({ todoId, content, status }: Todo): vscode.TreeItem {
  const item = new vscode.TreeItem(content);
  item.id = todoId;
  item.checkboxState = status === Progress.COMPLETED ? Checked : Unchecked;
  item.description = status === Progress.IN_PROGRESS ? "in progress" : "";
  item.contextValue = "todo";
  return item;
}
