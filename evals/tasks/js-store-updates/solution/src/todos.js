export const EMPTY = { todos: [], next: 1 };

/** Add a todo at the end. */
export function add(state, text) {
  return { todos: [...state.todos, { id: state.next, text, done: false }], next: state.next + 1 };
}

/** Mark a todo as done or not. */
export function mark(state, id, done) {
  const found = state.todos.find((todo) => todo.id === id);
  if (!found || found.done === done) return state;
  return { ...state, todos: state.todos.map((todo) => (todo === found ? { ...todo, done } : todo)) };
}

/** Remove a todo. */
export function remove(state, id) {
  const todos = state.todos.filter((todo) => todo.id !== id);
  return todos.length === state.todos.length ? state : { ...state, todos };
}
