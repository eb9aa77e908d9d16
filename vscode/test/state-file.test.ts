import { mkdtemp, readFile, readdir, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SETTLED, StateFile, TOUCH_EVERY, type EditorState } from "../src/editor/state-file";

beforeEach(
  () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }),
);
afterEach(() => void vi.useRealTimers());

const state = (activeFile: string): EditorState => ({
  activeFile,
  openFiles: [activeFile],
  diagnostics: [],
  workspaceFolders: ["/"],
});

async function place(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), "portico-state-")), "window", "state.json");
}

test("many changes in a moment are one write, of what is true at its end", async () => {
  const path = await place();
  let looks = 0;
  let active = "/a.py";
  const file = new StateFile(path, () => {
    looks++;
    return state(active);
  });
  for (let change = 0; change < 20; change++) file.changed();
  active = "/b.py";
  vi.advanceTimersByTime(SETTLED);
  await file.settled();
  expect(looks).toBe(1);
  expect(JSON.parse(await readFile(path, "utf8"))).toEqual(state("/b.py"));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dirname(path))).toEqual(["state.json"]);
  await file.dispose();
});

test("while the window is open the file stays young, and goes with the window", async () => {
  const path = await place();
  const file = new StateFile(path, () => state("/a.py"));
  file.changed();
  vi.advanceTimersByTime(SETTLED);
  await file.settled();
  await utimes(path, new Date(0), new Date(0));
  vi.advanceTimersByTime(TOUCH_EVERY);
  await file.settled();
  expect(Date.now() - (await stat(path)).mtimeMs).toBeLessThan(TOUCH_EVERY);
  await file.dispose();
  await expect(stat(path)).rejects.toThrow();
});
