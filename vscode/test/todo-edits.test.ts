import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { Progress, TodoSchema, type Todo } from "../../web/src/generated/portico/v1/events_pb";
import {
  addTodo,
  markTodo,
  moveTodo,
  moveTodoBefore,
  removeTodo,
  renameTodo,
  TodoEdits,
} from "../src/views/todo-edits";

const todo = (todoId: string): Todo =>
  create(TodoSchema, { todoId, content: todoId, status: Progress.PENDING });
const ids = (todos: readonly Todo[]): string => todos.map((one) => one.todoId).join("");
const three = [todo("a"), todo("b"), todo("c")];

/** A server that answers when it is told to. */
function server() {
  const written: (readonly Todo[])[] = [];
  const answers: { resolve: () => void; reject: (reason: Error) => void }[] = [];
  const write = (todos: readonly Todo[]): Promise<readonly Todo[]> => {
    written.push(todos);
    return new Promise((resolve, reject) => answers.push({ resolve: () => resolve(todos), reject }));
  };
  return { written, answers, write };
}

test("a change is shown before the server has it, and stays when it does", async () => {
  const { answers, write } = server();
  const edits = new TodoEdits(write);
  edits.take(three);
  const done = edits.edit(markTodo("b", true));
  expect(edits.shown.value[1]?.status).toBe(Progress.COMPLETED);
  await Promise.resolve();
  answers[0]?.resolve();
  await done;
  expect(edits.shown.value[1]?.status).toBe(Progress.COMPLETED);
});

test("a change that the server refuses goes away again, and the others stay", async () => {
  const { answers, write } = server();
  const edits = new TodoEdits(write);
  edits.take(three);
  const refused = edits.edit(removeTodo("a"));
  const kept = edits.edit(moveTodo("c", -1));
  expect(ids(edits.shown.value)).toBe("cb");
  await Promise.resolve();
  answers[0]?.reject(new Error("no"));
  await expect(refused).rejects.toThrow("no");
  expect(ids(edits.shown.value)).toBe("acb");
  answers[1]?.resolve();
  await kept;
  expect(ids(edits.shown.value)).toBe("acb");
});

test("changes reach the server one after another, each upon what the last one left", async () => {
  const { written, answers, write } = server();
  const edits = new TodoEdits(write);
  edits.take(three);
  const first = edits.edit(addTodo("d", "new"));
  const second = edits.edit(moveTodoBefore("d", "a"));
  await Promise.resolve();
  expect(written.map(ids)).toEqual(["abcd"]);
  answers[0]?.resolve();
  await first;
  await Promise.resolve();
  answers[1]?.resolve();
  await second;
  expect(written.map(ids)).toEqual(["abcd", "dabc"]);
});

test("what the agent writes meanwhile is kept beneath a change that is under way", async () => {
  const { answers, write } = server();
  const edits = new TodoEdits(write);
  edits.take(three);
  const done = edits.edit(removeTodo("b"));
  edits.take([...three, todo("e")]);
  expect(ids(edits.shown.value)).toBe("ace");
  await Promise.resolve();
  answers[0]?.resolve();
  await done;
});

test("a todo gets other words and stays where it is", () => {
  const renamed = renameTodo("b", "Paint the hull")(three);
  expect(ids(renamed)).toBe("abc");
  expect(renamed[1]?.content).toBe("Paint the hull");
  expect(renameTodo("nobody", "x")(three)).toEqual(three);
});

test.each([
  [moveTodo("a", 1), "bac"],
  [moveTodo("a", -1), "abc"],
  [moveTodo("c", 1), "abc"],
  [moveTodoBefore("c", "a"), "cab"],
  [moveTodoBefore("a", undefined), "bca"],
  [moveTodoBefore("a", "a"), "abc"],
  [moveTodo("nobody", 1), "abc"],
])("moves leave nothing out: %#", (edit, order) => {
  expect(ids(edit(three))).toBe(order);
});
