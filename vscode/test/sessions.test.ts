import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { afterEach, expect, test } from "vitest";
import {
  SessionSummarySchema,
  WatchSessionsResponseSchema,
  type SessionSummary,
  type WatchSessionsResponse,
} from "../../web/src/generated/portico/v1/agent_pb";
import { ServerConnection } from "../src/server/connection";
import type { Server } from "../src/server/server";
import { CurrentSession } from "../src/sessions/current-session";
import { SessionRegistry } from "../src/sessions/session-registry";
import { Observable } from "../src/observable";
import { serve, type FakeService } from "./fake-service";

const summary = (sessionId: string, at: number, title = ""): SessionSummary =>
  create(SessionSummarySchema, { sessionId, title, workspace: "/here", updatedAt: timestampFromMs(at) });
const changed = (value: SessionSummary): WatchSessionsResponse =>
  create(WatchSessionsResponseSchema, { change: { case: "changed", value } });

/** A service with sessions that a test can change. */
class House {
  readonly changes = new Observable<WatchSessionsResponse | undefined>(undefined);
  readonly watching = new Observable(0);
  sessions: SessionSummary[] = [];
  answer = (sessionId: string): Promise<SessionSummary | undefined> =>
    Promise.resolve(this.sessions.find((one) => one.sessionId === sessionId));
  #service: FakeService | undefined;

  async open(): Promise<Server> {
    this.#service = await serve({
      listSessions: () => ({ sessions: this.sessions }),
      watchSessions: (_, { signal }) => this.#watch(signal),
      getSession: async ({ sessionId }) => ({ session: { summary: await this.answer(sessionId) } }),
    });
    return this.#service.server;
  }

  drop(): void {
    this.#service?.drop();
  }

  close(): void {
    this.#service?.close();
  }

  async *#watch(signal: AbortSignal): AsyncGenerator<WatchSessionsResponse> {
    yield create(WatchSessionsResponseSchema, { change: { case: "heartbeat", value: {} } });
    const waiting: WatchSessionsResponse[] = [];
    let wake: () => void = () => undefined;
    const listening = this.changes.listen((change) => {
      if (change !== undefined) waiting.push(change);
      wake();
    });
    this.watching.set(this.watching.value + 1);
    while (!signal.aborted) {
      for (const change of waiting.splice(0)) yield change;
      await new Promise<void>((resolve) => {
        wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    listening.dispose();
  }
}

const until = <Value>(
  told: { value: Value; listen: Observable<Value>["listen"] },
  is: (value: Value) => boolean,
) =>
  new Promise<void>((resolve) => {
    if (is(told.value)) resolve();
    const listening = told.listen((value) => {
      if (!is(value)) return;
      listening.dispose();
      resolve();
    });
  });

let house: House;
afterEach(() => house.close());

test("sessions are listed once the server runs, and follow what changes, newest first", async () => {
  house = new House();
  house.sessions = [summary("a", 1), summary("b", 2)];
  const server = await house.open();
  const sessions = new SessionRegistry(server, new ServerConnection(server));
  expect(sessions.newest()).toEqual([]);
  await server.address();
  await until(house.watching, (count) => count === 1);
  house.changes.set(changed(summary("a", 3, "Boats")));
  await until(sessions.all, (sessions) => sessions.get("a")?.title === "Boats");
  expect(sessions.newest().map((one) => one.sessionId)).toEqual(["a", "b"]);
  house.changes.set(
    create(WatchSessionsResponseSchema, { change: { case: "removedSessionId", value: "b" } }),
  );
  await until(sessions.all, (sessions) => !sessions.has("b"));
  sessions.dispose();
});

test("a server that went away is not called back by whoever only watches", async () => {
  house = new House();
  const server = await house.open();
  const states: string[] = [];
  server.state.listen(({ state }) => states.push(state));
  const connection = new ServerConnection(server);
  const sessions = new SessionRegistry(server, connection);
  const memory = { get: () => "a", update: () => undefined };
  const current = new CurrentSession(connection, sessions, { belongsHere: () => true, memory });
  await server.address();
  await until(house.watching, (count) => count === 1);
  house.close();
  await until(server.state, ({ state }) => state === "off");
  await new Promise<void>((resolve) => setImmediate(resolve));
  await current.refresh();
  expect(states).toEqual(["running", "off"]);
  current.dispose();
  sessions.dispose();
});

test("the current session is the one in front of the page, else the last one of this window", async () => {
  house = new House();
  house.sessions = [summary("a", 1, "Old"), summary("b", 2, "New")];
  const server = await house.open();
  const connection = new ServerConnection(server);
  const sessions = new SessionRegistry(server, connection);
  const memory = new Map<string, unknown>();
  const current = new CurrentSession(connection, sessions, {
    belongsHere: ({ workspace }) => workspace === "/here",
    memory: { get: (key) => memory.get(key), update: (key, value) => memory.set(key, value) },
  });
  await server.address();
  await until(current.detail, (detail) => detail?.summary?.title === "New");
  current.choose("a");
  await until(current.detail, (detail) => detail?.summary?.title === "Old");
  expect(memory.get("session")).toBe("a");
  current.dispose();
  sessions.dispose();
});

test("a session that was removed while nobody watched is not listed any more", async () => {
  house = new House();
  house.sessions = [summary("a", 1), summary("b", 2)];
  const server = await house.open();
  const sessions = new SessionRegistry(server, new ServerConnection(server));
  await server.address();
  await until(sessions.all, (sessions) => sessions.has("b"));
  await until(house.watching, (count) => count === 1);
  house.sessions = [summary("a", 1)];
  house.drop();
  await until(sessions.all, (sessions) => !sessions.has("b"));
  expect(sessions.newest().map((one) => one.sessionId)).toEqual(["a"]);
  sessions.dispose();
});

test("an answer counts though a later question has failed, and not once a later one has been answered", async () => {
  house = new House();
  const server = await house.open();
  await server.address();
  const live = { all: new Observable(new Map([["a", summary("a", 1)]])) } as unknown as SessionRegistry;
  const memory = { get: () => "a", update: () => undefined };
  const current = new CurrentSession(new ServerConnection(server), live, { belongsHere: () => true, memory });
  const told: (string | undefined)[] = [];
  current.detail.listen((detail) => told.push(detail?.summary?.title));
  const answers = new Observable<readonly ((title: string | undefined) => void)[]>([]);
  house.answer = () =>
    new Promise((resolve, reject) => {
      const answer = (title: string | undefined): void =>
        title === undefined ? reject(new Error("Not now.")) : resolve(summary("a", 1, title));
      answers.set([...answers.value, answer]);
    });
  const ask = async (): Promise<(title: string | undefined) => Promise<void>> => {
    const place = answers.value.length;
    const done = current.refresh();
    await until(answers, ({ length }) => length > place);
    return async (title) => {
      answers.value[place]?.(title);
      await done;
    };
  };

  const [early, failing] = [await ask(), await ask()];
  await failing(undefined);
  await early("Early");
  expect(told).toEqual(["Early"]);

  const [late, newest] = [await ask(), await ask()];
  await newest("Newest");
  await late("Late");
  const same = await ask();
  await same("Newest");
  expect(told).toEqual(["Early", "Newest"]);
  current.dispose();
});
