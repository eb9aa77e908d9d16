import assert from "node:assert/strict";
import { test } from "node:test";
import { readSearch, searchLink } from "../src/links.js";
import { formatQuery, parseQuery } from "../src/query.js";

test("values are encoded", () => {
  assert.equal(formatQuery({ q: "c++ & go", "a b": "=" }), "q=c%2B%2B%20%26%20go&a%20b=%3D");
});

test("a plus is a space, and encoded letters are read", () => {
  assert.deepEqual(parseQuery("?q=two+words&x=%C3%A9%2B"), { q: "two words", x: "é+" });
});

test("a value may contain an equals sign, or be missing", () => {
  assert.deepEqual(parseQuery("a=1=2&b&c="), { a: "1=2", b: "", c: "" });
});

test("a name that occurs again makes an array", () => {
  assert.deepEqual(parseQuery("tag=a&tag=b&tag=c&x=1"), { tag: ["a", "b", "c"], x: "1" });
  assert.equal(formatQuery({ tag: ["a", "b"] }), "tag=a&tag=b");
});

test("nothing is nothing", () => {
  assert.deepEqual(parseQuery(""), {});
  assert.deepEqual(parseQuery("?"), {});
  assert.equal(formatQuery({ a: undefined, b: null, c: 0, d: [] }), "c=0");
});

test("what cannot be decoded stays as it is", () => {
  assert.deepEqual(parseQuery("a=100%"), { a: "100%" });
});

test("a search survives its link", () => {
  const link = searchLink("c++ & go", { tags: ["a&b", "c"], page: 2 });
  assert.deepEqual(readSearch(link), { words: "c++ & go", tags: ["a&b", "c"], page: 2 });
  assert.deepEqual(readSearch(searchLink("x")), { words: "x", tags: [], page: 1 });
});
