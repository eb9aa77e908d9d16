export const EMPTY = { todos: [], next: 1 };

/** Add a todo at the end. */
export function add(state, text) {
  state.todos.push({ id: state.next, text, done: false });
  state.next += 1;
  return { ...state };
}

/** Mark a todo as done or not. */
export function mark(state, id, done) {
  const found = state.todos.find((todo) => todo.id === id);
  if (found) found.done = done;
  return { ...state };
}

/** Remove a todo. */
export function remove(state, id) {
  const place = state.todos.findIndex((todo) => todo.id === id);
  state.todos.splice(place, 1);
  return { ...state };
}
