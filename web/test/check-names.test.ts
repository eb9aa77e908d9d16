import { execFile } from "node:child_process";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const SCRIPT = fileURLToPath(new URL("../scripts/check-names.mjs", import.meta.url));
const SOURCES = ["../src", "../../vscode/src"].map((path) => fileURLToPath(new URL(path, import.meta.url)));

/** What the check prints; empty if it passes. */
async function check(...folders: string[]): Promise<string> {
  try {
    await promisify(execFile)(process.execPath, [SCRIPT, ...folders]);
    return "";
  } catch (reason) {
    return (reason as { stderr: string }).stderr;
  }
}

async function plant(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "names-"));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

describe("the check of names", () => {
  test("passes both packages", async () => {
    expect(await check(...SOURCES)).toBe("");
  });

  test("fails on a type that is exported twice in one package", async () => {
    const folder = await plant({
      "one.ts": "export interface Place {}\n",
      "deep/other.tsx": "export type Place = string;\n",
    });
    expect(await check(folder)).toContain("Place is exported by");
  });

  test("lets two packages use the same name, and a package use it privately", async () => {
    const one = await plant({ "one.ts": "export class Place {}\n", "other.ts": "interface Place {}\n" });
    const other = await plant({ "one.ts": "export class Place {}\n" });
    expect(await check(one, other)).toBe("");
  });

  test.each([
    "telling.ts",
    "model/choosing.tsx",
    "view/permission-words.ts",
    "told.ts",
    "utils.ts",
    "opened.ts",
  ])("fails on the file name %s", async (name) => {
    expect(await check(await plant({ [name]: "" }))).toContain(name);
  });
});
