import assert from "node:assert/strict";
import { test } from "node:test";
import { merge } from "../src/merge.js";
import { DEFAULTS, loadSettings } from "../src/settings.js";

const ORIGINAL = structuredClone(DEFAULTS);

test("settings are merged and the defaults stay", () => {
  const mine = loadSettings('{"theme": {"color": "red"}, "width": 100}');
  assert.deepEqual(mine, { theme: { color: "red", dark: false }, plugins: ["spelling", "links"], width: 100 });
  assert.deepEqual(DEFAULTS, ORIGINAL);
  assert.deepEqual(loadSettings(""), ORIGINAL);
});

test("what a user changes in the result does not change the defaults", () => {
  loadSettings("").theme.color = "green";
  loadSettings("").plugins.push("x");
  assert.deepEqual(DEFAULTS, ORIGINAL);
});

test("arrays are replaced", () => {
  assert.deepEqual(loadSettings('{"plugins": ["mine"]}').plugins, ["mine"]);
});

test("null removes a setting", () => {
  const mine = loadSettings('{"width": null, "theme": {"dark": null}, "none": null}');
  assert.deepEqual(mine, { theme: { color: "blue" }, plugins: ["spelling", "links"] });
});

test("an object replaces a value, and a value an object", () => {
  assert.deepEqual(merge({ a: 1, b: { c: 1 } }, { a: { x: 1 }, b: 2 }), { a: { x: 1 }, b: 2 });
  assert.deepEqual(merge({ a: [1] }, { a: { x: 1 } }), { a: { x: 1 } });
});

test("no file changes all objects", () => {
  const mine = loadSettings('{"__proto__": {"admin": true}, "constructor": {"prototype": {"admin": true}}}');
  assert.equal({}.admin, undefined);
  assert.equal(mine.admin, undefined);
});
