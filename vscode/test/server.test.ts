import { join } from "node:path";
import { expect, test } from "vitest";
import { ProgramNotFound, findProgram, type ProgramSearch } from "../src/server/program-search";
import { ServerError } from "../src/server/program-runner";
import { UntrustedWorkspace, remediesFor, RepeatFilter, failureText } from "../src/server/start-failure";
import { isCompatible, IncompatibleVersion } from "../src/server/version";
import { answering, script, serverOf } from "./fake-program";

test("whoever asks for the server while it starts waits for the same start", async () => {
  const program = await answering();
  const server = serverOf(program.file);
  const [one, two] = await Promise.all([server.address(), server.address()]);
  expect(one).toBe(two);
  expect(one).toEqual({ port: 4711, token: "secret", version: "0.1.0" });
  expect(await program.deeds()).toEqual(["serve begins", "serve ends"]);
});

test("a server that was lost is started again, once, however many saw it go", async () => {
  const program = await answering();
  const server = serverOf(program.file);
  const first = await server.address();
  server.reportLost(first);
  server.reportLost(first);
  const again = await server.address();
  server.reportLost(first);
  expect(await server.address()).toBe(again);
  expect((await program.deeds()).filter((deed) => deed === "serve begins")).toHaveLength(2);
});

test("restarts do not overlap: two are one, and who needs the server meanwhile waits", async () => {
  const program = await answering();
  const server = serverOf(program.file);
  await server.address();
  const restarts = [server.restart(), server.restart()];
  const needed = server.address();
  const [one, two, three] = await Promise.all([...restarts, needed]);
  expect(one).toBe(two);
  expect(three).toBe(one);
  const once = ["stop begins", "stop ends", "serve begins", "serve ends"];
  expect(await program.deeds()).toEqual(["serve begins", "serve ends", ...once]);
});

test("the state goes from off over starting to running, and says why it failed", async () => {
  const states: string[] = [];
  const server = serverOf((await answering()).file);
  server.state.listen(({ state }) => states.push(state));
  const address = await server.address();
  server.reportLost(address);
  await server.address();
  expect(states).toEqual(["starting", "running", "off", "starting", "running"]);
  const broken = serverOf("/nowhere/portico");
  await expect(broken.address()).rejects.toThrow();
  expect(broken.state.value.state).toBe("failed");
});

test("a failure says what Portico said, and the next call tries again", async () => {
  const said = '{"status":"failed","error":"No room.","diagnostics":{"suggestion":"Make some."}}';
  const { file } = await script(`echo '${said}'; exit 2`);
  const server = serverOf(file);
  await expect(server.address()).rejects.toThrow("No room.");
  await expect(server.address()).rejects.toMatchObject({ suggestion: "Make some." });
});

test("a program that is not Portico, or not of this version, is told apart", async () => {
  const { file } = await script("echo hello");
  await expect(serverOf(file).address()).rejects.toBeInstanceOf(IncompatibleVersion);
  const older = await answering("0.0.9");
  await expect(serverOf(older.file).address()).rejects.toThrow("is Portico 0.0.9; this extension needs 0.1");
  expect(await older.deeds()).toEqual([]);
});

test.each([
  ["0.1.0", "0.1.7", true],
  ["0.2.0", "0.1.0", false],
  ["1.4.0", "1.0.2", true],
  ["2.0.0", "1.0.0", false],
])("version %s fits %s: %s", (version, wanted, fitting) => {
  expect(isCompatible(version, wanted)).toBe(fitting);
});

const nothing: ProgramSearch = {
  workspace: "",
  user: "",
  interpreter: "",
  path: "",
  own: "/nowhere/portico",
  home: "/home/one",
  platform: "linux",
};

test("the program is that of the workspace, of the user, beside Python, on the path, or our own", async () => {
  const { folder, file } = await answering();
  const found = (change: Partial<ProgramSearch>) => findProgram({ ...nothing, ...change });
  expect(await found({ path: `/nowhere:relative:${folder}` })).toEqual({ program: file, origin: "PATH" });
  expect(await found({ own: file })).toEqual({ program: file, origin: "own environment" });
  const interpreter = join(folder, "python");
  expect(await found({ interpreter, own: file })).toMatchObject({ origin: "Python environment" });
  expect(await found({ interpreter, user: file })).toMatchObject({ origin: "user setting" });
  expect(await found({ user: "/other", workspace: file })).toMatchObject({ origin: "workspace setting" });
  expect(await found({ user: "~/portico", home: folder })).toEqual({ program: file, origin: "user setting" });
});

test("a program that is named and not there is not replaced by another", async () => {
  const { folder, file } = await answering();
  const named = findProgram({ ...nothing, user: join(folder, "other"), path: folder, own: file });
  await expect(named).rejects.toBeInstanceOf(ProgramNotFound);
  await expect(findProgram({ ...nothing, user: "portico" })).rejects.toThrow("portico.program");
  await expect(findProgram(nothing)).rejects.toThrow("not installed");
});

test("a failure is told once, until things have gone well or something else fails", () => {
  const said = new RepeatFilter();
  expect([said.isNew("a"), said.isNew("a"), said.isNew("b"), said.isNew("b")]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  said.forget();
  expect(said.isNew("b")).toBe(true);
});

test("each trouble has the remedies that help against it", () => {
  expect(remediesFor(new ProgramNotFound("none"))).toContain("Install");
  expect(remediesFor(new IncompatibleVersion("old", "update"))).toContain("Choose Program");
  expect(remediesFor(new UntrustedWorkspace("no"))).toEqual(["Manage Trust"]);
  expect(remediesFor(new ServerError("port taken", ""))).toContain("Restart Server");
  expect(failureText(new ServerError("No room.", "Make some."))).toBe("No room. Make some.");
});
