// The list of sessions, over a server that comes and goes.

import { expect, test } from "vitest";
import { createSessionListModel } from "../src/model/session-list";
import type { SessionListModel } from "../src/model/types";
import { DirectoryServer } from "./directory-server";
import { TestEnvironment, until } from "./test-environment";

async function open(
  server: DirectoryServer,
  workspace = "",
  pageSize = 50,
): Promise<[SessionListModel, TestEnvironment]> {
  const environment = new TestEnvironment();
  const sessions = createSessionListModel(server.gateway(), workspace, { environment, pageSize });
  await until(
    environment,
    "it watches",
    () => server.watchers > 0 && sessions.connection.value.state === "live",
  );
  return [sessions, environment];
}

function titles(sessions: SessionListModel): string[] {
  return sessions.sessions.value.map((session) => session.title);
}

function withSessions(count: number): DirectoryServer {
  const server = new DirectoryServer();
  for (let place = 1; place <= count; place++) server.put(`s${place}`, `session ${place}`);
  return server;
}

test("sessions stand newest first, and one that changes moves up", async () => {
  const server = withSessions(3);
  const [sessions, environment] = await open(server);
  expect(titles(sessions)).toEqual(["session 3", "session 2", "session 1"]);
  server.put("s1", "renamed");
  server.put("s4", "new");
  await until(environment, "both are there", () => titles(sessions).length === 4);
  expect(titles(sessions)).toEqual(["new", "renamed", "session 3", "session 2"]);
});

test("a session removed by anyone goes away", async () => {
  const server = withSessions(3);
  const [sessions, environment] = await open(server);
  server.remove("s2");
  await until(environment, "it is gone", () => titles(sessions).length === 2);
  await sessions.remove("s1");
  expect(titles(sessions)).toEqual(["session 3"]);
});

test("a session that cannot be removed stays, and the reason is told", async () => {
  const server = withSessions(1);
  const [sessions] = await open(server);
  server.refusesRemoval = true;
  await sessions.remove("s1");
  expect(titles(sessions)).toHaveLength(1);
  expect(sessions.failure.value).toMatchObject({ code: "FAILED_PRECONDITION", message: "It is in use." });
});

test("what a session proposes goes with it only if that is said", async () => {
  const server = withSessions(2);
  const [sessions] = await open(server);
  await sessions.remove("s1");
  await sessions.remove("s2", true);
  expect(server.discards).toEqual([false, true]);
});

test("more sessions come by the page, each once", async () => {
  const server = withSessions(25);
  const [sessions, environment] = await open(server, "", 10);
  expect([titles(sessions).length, sessions.more.value]).toEqual([10, true]);
  server.put("s16", "moved up");
  await until(environment, "it moved", () => titles(sessions)[0] === "moved up");
  await Promise.all([sessions.loadMore(), sessions.loadMore()]);
  await sessions.loadMore();
  expect([titles(sessions).length, sessions.more.value]).toEqual([25, false]);
  expect(new Set(titles(sessions)).size).toBe(25);
});

test("a search waits for a pause and then finds what fits, also what comes later", async () => {
  const server = withSessions(3);
  const [sessions, environment] = await open(server);
  const before = server.lists.length;
  for (const search of ["r", "re", "rep"]) {
    sessions.search.value = search;
    await environment.pass(100);
  }
  await until(environment, "it has searched", () => titles(sessions).length === 0);
  expect(server.lists.slice(before).map((list) => list.search)).toEqual(["rep"]);
  server.put("s4", "a Repair");
  server.put("s5", "other");
  await until(environment, "it is found", () => titles(sessions).length > 0);
  expect(titles(sessions)).toEqual(["a Repair"]);
  server.put("s4", "renamed");
  await until(environment, "it fits no more", () => titles(sessions).length === 0);
});

test("only sessions of the folder are shown", async () => {
  const server = withSessions(1);
  const [sessions, environment] = await open(server, "/w");
  server.put("s2", "elsewhere", "/other");
  server.put("s3", "here");
  await until(environment, "it is there", () => titles(sessions).length > 1);
  expect(titles(sessions)).toEqual(["here", "session 1"]);
});

test("a change between the list and the watch is not missed", async () => {
  const server = withSessions(1);
  server.betweenListAndWatch = () => {
    server.betweenListAndWatch = () => undefined;
    server.put("s2", "in between");
  };
  const [sessions, environment] = await open(server);
  await environment.pass(100);
  expect(titles(sessions)).toEqual(["in between", "session 1"]);
});

test("a list that is newer than a change is not taken back by it", async () => {
  const server = withSessions(1);
  server.onWatch = () => {
    server.put("s1", "older");
    server.tells = false;
    server.put("s1", "newer");
  };
  const [sessions, environment] = await open(server);
  await environment.pass(100);
  expect(titles(sessions)).toEqual(["newer"]);
});

test("a slow search does not replace the one that followed it", async () => {
  const server = withSessions(12);
  const [sessions, environment] = await open(server);
  const release = server.holdNextList();
  sessions.search.value = "session 1";
  await environment.pass(200);
  sessions.search.value = "session 12";
  await environment.pass(200);
  release();
  await environment.pass(200);
  expect(titles(sessions)).toEqual(["session 12"]);
});

test("after the server was away the list is as it is now, as long as it was", async () => {
  const server = withSessions(25);
  const [sessions, environment] = await open(server, "", 10);
  await sessions.loadMore();
  server.kill();
  await until(environment, "it is gone", () => sessions.connection.value.state === "reconnecting");
  server.remove("s25");
  server.put("s26", "while away");
  server.start();
  await until(environment, "it is back", () => titles(sessions)[0] === "while away");
  expect(titles(sessions)).toHaveLength(20);
  expect(titles(sessions)).not.toContain("session 25");
});

test("a disposed list leaves nothing behind", async () => {
  const server = withSessions(1);
  const [sessions, environment] = await open(server);
  sessions.search.value = "x";
  sessions.dispose();
  await environment.pass(100_000);
  expect([server.watchers, environment.waiting]).toEqual([0, 0]);
});
