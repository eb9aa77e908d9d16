import { expect, test } from "vitest";
import { relativePath, absolutePath } from "../src/session-paths";

test("what a session names is looked for in its own folder, and a whole path as it is", () => {
  expect(absolutePath("/docks", "cranes.py")).toBe("/docks/cranes.py");
  expect(absolutePath("/docks", "./old/../cranes.py")).toBe("/docks/cranes.py");
  expect(absolutePath("/docks", "/harbour/cranes.py")).toBe("/harbour/cranes.py");
});

test.each([
  ["/docks", "/docks/old/cranes.py", "old/cranes.py"],
  ["/docks/", "/docks/cranes.py", "cranes.py"],
  ["/docks", "/docks/..cranes.py", "..cranes.py"],
  ["/docks", "/docks-2/cranes.py", "/docks-2/cranes.py"],
  ["/docks", "/harbour/cranes.py", "/harbour/cranes.py"],
  ["/docks/old", "/docks", "/docks"],
  ["/docks", "/docks", "/docks"],
  ["", "/docks/cranes.py", "/docks/cranes.py"],
])("in a session of %j, %s is called %s", (folder, path, name) => {
  expect(relativePath(folder, path)).toBe(name);
});
