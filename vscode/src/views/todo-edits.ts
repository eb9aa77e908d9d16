// Optimistic edits of the todo list: shown at once, and taken back if the server rejects them.

import { create, equals } from "@bufbuild/protobuf";
import { Priority, Progress, TodoSchema, type Todo } from "../../../web/src/generated/portico/v1/events_pb";
import { Observable, type ReadonlyObservable } from "../observable";

export type TodoEdit = (todos: readonly Todo[]) => readonly Todo[];

export class TodoEdits {
  readonly #write: (todos: readonly Todo[]) => Promise<readonly Todo[]>;
  readonly #shown = new Observable<readonly Todo[]>([]);
  #atServer: readonly Todo[] = [];
  #edits: readonly TodoEdit[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(write: (todos: readonly Todo[]) => Promise<readonly Todo[]>) {
    this.#write = write;
  }

  get shown(): ReadonlyObservable<readonly Todo[]> {
    return this.#shown;
  }

  /** The server's list, which may be older than an edit in progress. */
  take(todos: readonly Todo[]): void {
    this.#atServer = todos;
    this.#show();
  }

  /** Shows it at once; rejects if the server would not have it. Edits reach it one after another. */
  async edit(edit: TodoEdit): Promise<void> {
    this.#edits = [...this.#edits, edit];
    this.#show();
    const done = this.#last.then(async () => {
      try {
        this.#atServer = await this.#write(edit(this.#atServer));
      } finally {
        this.#edits = this.#edits.filter((one) => one !== edit);
        this.#show();
      }
    });
    this.#last = done.catch(() => undefined);
    await done;
  }

  /** Drawn again only if it is another list: a list that is drawn swallows the click that is under way. */
  #show(): void {
    const todos = this.#edits.reduce((before, edit) => edit(before), this.#atServer);
    if (!areSame(todos, this.#shown.value)) this.#shown.set(todos);
  }
}

export function markTodo(todoId: string, isDone: boolean): TodoEdit {
  const status = isDone ? Progress.COMPLETED : Progress.PENDING;
  return (todos) => todos.map((todo) => (todo.todoId === todoId ? { ...todo, status } : todo));
}

export function addTodo(todoId: string, content: string): TodoEdit {
  const todo = create(TodoSchema, {
    todoId,
    content,
    status: Progress.PENDING,
    priority: Priority.MEDIUM,
  });
  return (todos) => [...todos, todo];
}

export function renameTodo(todoId: string, content: string): TodoEdit {
  return (todos) => todos.map((todo) => (todo.todoId === todoId ? { ...todo, content } : todo));
}

export function removeTodo(todoId: string): TodoEdit {
  return (todos) => todos.filter((todo) => todo.todoId !== todoId);
}

export function moveTodo(todoId: string, by: 1 | -1): TodoEdit {
  return (todos) => {
    const place = todos.findIndex((todo) => todo.todoId === todoId);
    const todo = todos[place];
    if (todo === undefined || place + by < 0) return todos;
    return todos.toSpliced(place, 1).toSpliced(place + by, 0, todo);
  };
}

/** In front of another one, or at the end. */
export function moveTodoBefore(todoId: string, otherId: string | undefined): TodoEdit {
  return (todos) => {
    const todo = todos.find((one) => one.todoId === todoId);
    if (todo === undefined || todoId === otherId) return todos;
    const others = todos.filter((one) => one !== todo);
    const place = others.findIndex((one) => one.todoId === otherId);
    return others.toSpliced(place < 0 ? others.length : place, 0, todo);
  };
}

function areSame(some: readonly Todo[], others: readonly Todo[]): boolean {
  const isSame = (todo: Todo, other: Todo | undefined): boolean =>
    other !== undefined && equals(TodoSchema, todo, other);
  return some.length === others.length && some.every((todo, place) => isSame(todo, others[place]));
}
