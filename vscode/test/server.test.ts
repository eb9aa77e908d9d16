import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { NoProgram, findProgram } from "../src/server/program";
import { Server, ServerFailed } from "../src/server/server";

async function program(script: string): Promise<{ folder: string; file: string }> {
  const folder = await mkdtemp(join(tmpdir(), "portico-"));
  const file = join(folder, "portico");
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return { folder, file };
}

async function answering(): Promise<{ folder: string; file: string }> {
  const made = await program('echo start >> "$(dirname "$0")/starts"; cat "$(dirname "$0")/answer"');
  await writeFile(join(made.folder, "token"), "secret\n");
  const answer = { status: "ok", port: 4711, version: "0.1.0", tokenFile: join(made.folder, "token") };
  await writeFile(join(made.folder, "answer"), JSON.stringify(answer));
  return made;
}

const serverOf = (file: string, failures: unknown[] = []): Server =>
  new Server(
    () => Promise.resolve({ program: file, folder: "/", environ: process.env }),
    (error) => failures.push(error),
  );

test("whoever asks for the server while it starts waits for the same start", async () => {
  const { folder, file } = await answering();
  const server = serverOf(file);
  const [one, two] = await Promise.all([server.address(), server.address()]);
  expect(one).toBe(two);
  expect(one).toEqual({ port: 4711, token: "secret", version: "0.1.0" });
  expect(await readFile(join(folder, "starts"), "utf8")).toBe("start\n");
});

test("a server that was lost is started again, once, however many saw it go", async () => {
  const { folder, file } = await answering();
  const server = serverOf(file);
  const first = await server.address();
  server.lost(first);
  server.lost(first);
  await Promise.resolve();
  const again = await server.address();
  server.lost(first);
  expect(await server.address()).toBe(again);
  expect(await readFile(join(folder, "starts"), "utf8")).toBe("start\nstart\n");
});

test("a failure says what Portico said, and the next call tries again", async () => {
  const said = '{"status":"failed","error":"No room.","diagnostics":{"suggestion":"Make some."}}';
  const { file } = await program(`echo '${said}'; exit 2`);
  const failures: unknown[] = [];
  const server = serverOf(file, failures);
  await expect(server.address()).rejects.toThrow("No room.");
  await expect(server.address()).rejects.toMatchObject({ suggestion: "Make some." });
  expect(failures).toHaveLength(2);
});

test("a program that is not Portico is told apart", async () => {
  const { file } = await program("echo hello");
  await expect(serverOf(file).address()).rejects.toBeInstanceOf(ServerFailed);
});

test("the program is the one that is named, else the first on the path", async () => {
  const { folder, file } = await answering();
  const search = { named: "", path: `/nowhere:relative:${folder}`, platform: "linux" as const };
  expect(await findProgram(search)).toBe(file);
  expect(await findProgram({ ...search, named: file, path: "" })).toBe(file);
  await expect(findProgram({ ...search, named: join(folder, "other") })).rejects.toBeInstanceOf(NoProgram);
  await expect(findProgram({ ...search, named: "portico" })).rejects.toThrow("portico.program");
  await expect(findProgram({ ...search, path: "" })).rejects.toThrow("not installed");
});
