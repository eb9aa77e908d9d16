import { access, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundledWheel, createEnvironment, type EnvironmentOptions } from "../src/server/managed-environment";
import { script } from "./fake-program";

/** A Python that makes an environment whose own Python does the same. */
const PYTHON = `case "$2" in
  venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  pip) printf '#!/bin/sh' > "$(dirname "$0")/portico"; chmod +x "$(dirname "$0")/portico"; echo "$@" > "$(dirname "$0")/asked" ;;
esac`;

async function making(python: string, change: Partial<EnvironmentOptions> = {}): Promise<EnvironmentOptions> {
  const folder = join(await mkdtemp(join(tmpdir(), "portico-own-")), "environment");
  return {
    pythons: [python],
    wheel: "/wheels/portico.whl",
    folder,
    platform: "linux",
    environ: process.env,
    signal: new AbortController().signal,
    report: () => undefined,
    ...change,
  };
}

test("the wheel is installed in an environment of its own, with the first Python that is new enough", async () => {
  const old = await script("exit 1");
  const python = await script(PYTHON);
  const steps: string[] = [];
  const wishes = await making("", { pythons: [old.file, python.file], report: (step) => steps.push(step) });
  const program = await createEnvironment(wishes);
  expect(program).toBe(join(wishes.folder, "bin", "portico"));
  await access(program);
  expect(steps).toHaveLength(3);
});

test("without a Python that is new enough, that is what the person is told", async () => {
  const old = await script("exit 1");
  await expect(createEnvironment(await making(old.file))).rejects.toThrow(
    "Python 3.11 or newer was not found",
  );
});

test("what fails half-way leaves nothing behind that could be taken for a program", async () => {
  const python = await script(
    'case "$2" in venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;; pip) echo "no network" >&2; exit 1 ;; esac',
  );
  const wishes = await making(python.file);
  await expect(createEnvironment(wishes)).rejects.toThrow("no network");
  await expect(access(wishes.folder)).rejects.toThrow();
});

test("an install that the person takes back ends at once and leaves nothing behind", async () => {
  const python = await script(
    'case "$2" in venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;; pip) exec sleep 60 ;; esac',
  );
  const stop = new AbortController();
  const wishes = await making(python.file, {
    signal: stop.signal,
    report: (step) => {
      if (step.startsWith("Installing")) setTimeout(() => stop.abort());
    },
  });
  await expect(createEnvironment(wishes)).rejects.toThrow();
  await expect(access(wishes.folder)).rejects.toThrow();
});

test("the wheel that came along is found, and none is none", async () => {
  const folder = await mkdtemp(join(tmpdir(), "portico-wheel-"));
  expect(await bundledWheel(folder)).toBeUndefined();
  expect(await bundledWheel(join(folder, "nowhere"))).toBeUndefined();
  await writeFile(join(folder, "portico-0.1.0.whl"), "");
  expect(await bundledWheel(folder)).toBe(join(folder, "portico-0.1.0.whl"));
});
