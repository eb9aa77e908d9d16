import assert from "node:assert/strict";
import { test } from "node:test";
import { createStore } from "../src/store.js";
import { add, EMPTY, mark, remove } from "../src/todos.js";

function frozen(state) {
  state.todos.forEach(Object.freeze);
  Object.freeze(state.todos);
  return Object.freeze(state);
}

const TWO = frozen({
  todos: [
    { id: 1, text: "tea", done: false },
    { id: 2, text: "milk", done: true },
  ],
  next: 3,
});

test("adding makes a new list", () => {
  const state = add(frozen(EMPTY), "tea");
  assert.deepEqual(state, { todos: [{ id: 1, text: "tea", done: false }], next: 2 });
  assert.deepEqual(EMPTY, { todos: [], next: 1 });
});

test("marking changes one todo and keeps the others as they are", () => {
  const state = mark(TWO, 1, true);
  assert.notEqual(state.todos, TWO.todos);
  assert.equal(state.todos[0].done, true);
  assert.equal(state.todos[1], TWO.todos[1]);
  assert.equal(TWO.todos[0].done, false);
});

test("what changes nothing returns the same state", () => {
  assert.equal(mark(TWO, 2, true), TWO);
  assert.equal(mark(TWO, 7, true), TWO);
  assert.equal(remove(TWO, 7), TWO);
});

test("removing", () => {
  assert.deepEqual(remove(TWO, 1).todos, [TWO.todos[1]]);
  assert.equal(TWO.todos.length, 2);
});

test("subscribers hear of changes only", () => {
  const store = createStore(TWO);
  const heard = [];
  const leave = store.subscribe((state) => heard.push(state.todos.length));
  store.update((state) => add(state, "bread"));
  store.update((state) => mark(state, 2, true));
  store.update((state) => remove(state, 1));
  leave();
  store.update((state) => remove(state, 2));
  assert.deepEqual(heard, [3, 2]);
});
