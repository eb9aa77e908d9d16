// Plan and todos above the composer.

import { create } from "@bufbuild/protobuf";
import { useSignal, type Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import {
  Priority,
  Progress,
  TodoSchema,
  type PlanEntry,
  type Todo,
} from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import { isActive } from "../cards/card";
import { Icon, IconButton } from "./elements";
import { currentStep, progressCount, PlanList } from "./plan-line";

/** The plan is shown here while the agent works on it, and in the timeline afterwards. */
export function pinnedPlan(session: SessionModel): readonly PlanEntry[] {
  return isActive(session.state.value) ? session.plan.value : [];
}

interface ChecklistProps {
  readonly session: SessionModel;
  /** Whether all of it is shown; otherwise it is one line. */
  readonly open: Signal<boolean>;
  /** Whether the person wants to write todos where there are none. */
  readonly writing: Signal<boolean>;
}

export function Checklist({ session, open, writing }: ChecklistProps) {
  const id = useId();
  const plan = pinnedPlan(session);
  const todos = session.todos.value;
  if (plan.length === 0 && todos.length === 0 && !writing.value) return null;
  const steps = plan.length > 0 ? plan : todos;
  const current = currentStep(steps);
  return (
    <section class="p-checklist" aria-label="Plan and todos">
      <button
        type="button"
        class="p-fold"
        aria-expanded={open.value}
        aria-controls={id}
        onClick={() => (open.value = !open.value)}
      >
        <Icon name="checklist" />
        <span class="p-fold-title">
          {plan.length > 0 ? "Plan" : "Todos"}
          {steps.length > 0 && <span class="p-soft"> · {progressCount(steps)}</span>}
          {!open.value && current !== "" && <span class="p-soft"> · {current}</span>}
        </span>
        <Icon name={open.value ? "chevron-down" : "chevron-up"} />
      </button>
      {open.value && (
        <div id={id} class="p-checklist-body">
          {plan.length > 0 && <PlanList entries={plan} />}
          {plan.length > 0 && todos.length > 0 && (
            <h3 class="p-checklist-title">Todos · {progressCount(todos)}</h3>
          )}
          <Todos session={session} todos={todos} />
        </div>
      )}
    </section>
  );
}

function Todos({ session, todos }: { readonly session: SessionModel; readonly todos: readonly Todo[] }) {
  const words = useSignal("");
  const set = (todo: Todo, done: boolean): void => {
    const status = done ? Progress.COMPLETED : Progress.PENDING;
    void session.writeTodos(todos.map((one) => (one === todo ? { ...one, status } : one)));
  };
  const add = (event: Event): void => {
    event.preventDefault();
    const content = words.peek().trim();
    if (content === "") return;
    words.value = "";
    const todo = create(TodoSchema, {
      todoId: crypto.randomUUID(),
      content,
      status: Progress.PENDING,
      priority: Priority.MEDIUM,
    });
    void session.writeTodos([...todos, todo]);
  };
  return (
    <>
      {todos.length > 0 && (
        <ul class="p-todos">
          {todos.map((todo) => (
            <li key={todo.todoId} class={todo.status === Progress.COMPLETED ? "p-todo p-done" : "p-todo"}>
              <label>
                <input
                  type="checkbox"
                  checked={todo.status === Progress.COMPLETED}
                  onChange={(event) => set(todo, event.currentTarget.checked)}
                />
                <span>{todo.content}</span>
                {todo.status === Progress.IN_PROGRESS && <span class="p-label">in progress</span>}
              </label>
              <IconButton
                icon="close"
                label={`Remove ${todo.content}`}
                act={() => void session.writeTodos(todos.filter((one) => one !== todo))}
              />
            </li>
          ))}
        </ul>
      )}
      <form class="p-todo-new" onSubmit={add}>
        <input
          class="p-field"
          value={words.value}
          placeholder="Add a todo"
          aria-label="Add a todo"
          onInput={(event) => (words.value = event.currentTarget.value)}
        />
      </form>
    </>
  );
}
