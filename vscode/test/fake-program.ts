// A program that answers as Portico does, as far as the extension asks, and notes every start and stop.

import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Server } from "../src/server/server";

export interface FakeProgram {
  readonly folder: string;
  readonly file: string;
  /** What it was asked to do besides telling its version, in order. */
  deeds(): Promise<readonly string[]>;
}

const ANSWERING = `here="$(dirname "$0")"
case "$1" in
  version) echo '{"name":"portico","version":"'"$(cat "$here/version")"'"}' ;;
  *) echo "$1 begins" >> "$here/deeds"; cat "$here/answer"; echo "$1 ends" >> "$here/deeds" ;;
esac`;

export async function script(words: string): Promise<FakeProgram> {
  const folder = await mkdtemp(join(tmpdir(), "portico-"));
  const file = join(folder, "portico");
  await writeFile(file, `#!/bin/sh\n${words}\n`);
  await chmod(file, 0o755);
  const deeds = async (): Promise<readonly string[]> =>
    (await readFile(join(folder, "deeds"), "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
  return { folder, file, deeds };
}

export async function answering(version = "0.1.0"): Promise<FakeProgram> {
  const made = await script(ANSWERING);
  await writeFile(join(made.folder, "token"), "secret\n");
  await writeFile(join(made.folder, "version"), version);
  const answer = { status: "ok", port: 4711, version, tokenFile: join(made.folder, "token") };
  await writeFile(join(made.folder, "answer"), JSON.stringify(answer));
  return made;
}

export function serverOf(program: string, wanted = "0.1.0"): Server {
  return new Server(() => Promise.resolve({ program, folder: "/", environ: process.env, wanted }));
}
