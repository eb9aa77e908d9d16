import assert from "node:assert/strict";
import { test } from "node:test";
import { report } from "../src/report.js";
import { uploadAll } from "../src/upload.js";

/** A sender whose uploads end when they are told to. */
function controlled() {
  const waiting = new Map();
  const order = [];
  const send = (name) =>
    new Promise((resolve, reject) => {
      order.push(name);
      waiting.set(name, { resolve: () => resolve(`id-${name}`), reject: () => reject(new Error("no space")) });
    });
  const end = async (name, how = "resolve") => {
    waiting.get(name)[how]();
    await new Promise(setImmediate);
  };
  return { send, order, end };
}

test("results are in the order of the files", async () => {
  const { send, end } = controlled();
  const done = uploadAll(["a", "b", "c"], send);
  await end("c");
  await end("a");
  await end("b");
  assert.deepEqual(await done, [
    { name: "a", ok: true, id: "id-a" },
    { name: "b", ok: true, id: "id-b" },
    { name: "c", ok: true, id: "id-c" },
  ]);
});

test("no more than the limit run at a time", async () => {
  const { send, order, end } = controlled();
  const done = uploadAll(["a", "b", "c", "d"], send, { limit: 2 });
  await new Promise(setImmediate);
  assert.deepEqual(order, ["a", "b"]);
  await end("b");
  assert.deepEqual(order, ["a", "b", "c"]);
  await end("c");
  assert.deepEqual(order, ["a", "b", "c", "d"]);
  await end("d");
  await end("a");
  assert.equal((await done).length, 4);
});

test("a failure does not stop the others", async () => {
  const { send, end } = controlled();
  const done = uploadAll(["a", "b"], send, { limit: 1 });
  await end("a", "reject");
  await end("b");
  assert.deepEqual(await done, [
    { name: "a", ok: false, error: "no space" },
    { name: "b", ok: true, id: "id-b" },
  ]);
});

test("a sender that throws at once counts as a failure", async () => {
  const results = await uploadAll(["a"], () => {
    throw new Error("bad name");
  });
  assert.deepEqual(results, [{ name: "a", ok: false, error: "bad name" }]);
});

test("the report counts", async () => {
  const send = async (name) => {
    if (name === "b") throw new Error("too large");
    return name;
  };
  assert.equal(await report(["a", "b", "c"], send), "2 of 3 uploaded, failed: b (too large)");
  assert.equal(await report(["a"], send), "1 of 1 uploaded");
  assert.equal(await report([], send), "0 of 0 uploaded");
});
