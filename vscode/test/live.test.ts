import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { afterEach, expect, test, vi } from "vitest";
import {
  AgentService,
  SessionSummarySchema,
  WatchSessionsResponseSchema,
  type SessionSummary,
  type WatchSessionsResponse,
} from "../../web/src/generated/portico/v1/agent_pb";
import { Link } from "../src/server/link";
import { Server, type Address } from "../src/server/server";
import { CurrentSession } from "../src/sessions/current";
import { LiveSessions } from "../src/sessions/live";
import { Told } from "../src/told";

const summary = (sessionId: string, at: number, title = ""): SessionSummary =>
  create(SessionSummarySchema, { sessionId, title, workspace: "/here", updatedAt: timestampFromMs(at) });
const changed = (value: SessionSummary): WatchSessionsResponse =>
  create(WatchSessionsResponseSchema, { change: { case: "changed", value } });

/** A service with sessions that a test can change. */
class House {
  readonly changes = new Told<WatchSessionsResponse | undefined>(undefined);
  readonly watching = new Told(0);
  asked = 0;
  sessions: SessionSummary[] = [];
  #http: HttpServer | undefined;

  async open(): Promise<Server> {
    const http = createServer(
      connectNodeAdapter({
        routes: (router) =>
          router.service(AgentService, {
            listSessions: () => ({ sessions: this.sessions }),
            watchSessions: (_, { signal }) => this.#watch(signal),
            getSession: ({ sessionId }) => {
              this.asked++;
              return { session: { summary: this.sessions.find((one) => one.sessionId === sessionId) } };
            },
          }),
      }),
    );
    this.#http = http;
    await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
    const address = { port: (http.address() as AddressInfo).port, token: "t", version: "0.1.0" };
    return serverAt(address);
  }

  close(): void {
    this.#http?.closeAllConnections();
    this.#http?.close();
  }

  async *#watch(signal: AbortSignal): AsyncGenerator<WatchSessionsResponse> {
    yield create(WatchSessionsResponseSchema, { change: { case: "heartbeat", value: {} } });
    const waiting: WatchSessionsResponse[] = [];
    let wake: () => void = () => undefined;
    const stop = this.changes.listen((change) => {
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
    stop();
  }
}

function serverAt(address: Address): Server {
  const state = new Told<Server["state"]["value"]>({ state: "off" });
  const server = new Server(() => Promise.reject(new Error("never started here")));
  vi.spyOn(server, "address").mockImplementation(() => {
    if (state.value.state !== "running") state.set({ state: "running", address });
    return Promise.resolve(address);
  });
  vi.spyOn(server, "state", "get").mockReturnValue(state);
  vi.spyOn(server, "lost").mockImplementation(() => state.set({ state: "off" }));
  return server;
}

const until = <Value>(told: { value: Value; listen: Told<Value>["listen"] }, is: (value: Value) => boolean) =>
  new Promise<void>((resolve) => {
    if (is(told.value)) resolve();
    const stop = told.listen((value) => {
      if (!is(value)) return;
      stop();
      resolve();
    });
  });

let house: House;
afterEach(() => house.close());

test("sessions are listed once the server runs, and follow what changes, newest first", async () => {
  house = new House();
  house.sessions = [summary("a", 1), summary("b", 2)];
  const server = await house.open();
  const live = new LiveSessions(server, new Link(server));
  expect(live.newest()).toEqual([]);
  await server.address();
  await until(house.watching, (count) => count === 1);
  house.changes.set(changed(summary("a", 3, "Boats")));
  await until(live.sessions, (sessions) => sessions.get("a")?.title === "Boats");
  expect(live.newest().map((one) => one.sessionId)).toEqual(["a", "b"]);
  house.changes.set(
    create(WatchSessionsResponseSchema, { change: { case: "removedSessionId", value: "b" } }),
  );
  await until(live.sessions, (sessions) => !sessions.has("b"));
  live.dispose();
});

test("a server that went away is not called back by whoever only watches", async () => {
  house = new House();
  const server = await house.open();
  const states: string[] = [];
  server.state.listen(({ state }) => states.push(state));
  const link = new Link(server);
  const live = new LiveSessions(server, link);
  const memory = { get: () => "a", update: () => undefined };
  const current = new CurrentSession(link, live, { isHere: () => true, memory });
  await server.address();
  await until(house.watching, (count) => count === 1);
  house.close();
  await until(server.state, ({ state }) => state === "off");
  await new Promise<void>((resolve) => setImmediate(resolve));
  await current.refresh();
  expect(states).toEqual(["running", "off"]);
  current.dispose();
  live.dispose();
});

test("the current session is the one in front of the page, else the last one of this window", async () => {
  house = new House();
  house.sessions = [summary("a", 1, "Old"), summary("b", 2, "New")];
  const server = await house.open();
  const link = new Link(server);
  const live = new LiveSessions(server, link);
  const memory = new Map<string, unknown>();
  const current = new CurrentSession(link, live, {
    isHere: ({ workspace }) => workspace === "/here",
    memory: { get: (key) => memory.get(key), update: (key, value) => memory.set(key, value) },
  });
  await server.address();
  await until(current.detail, (detail) => detail?.summary?.title === "New");
  current.choose("a");
  await until(current.detail, (detail) => detail?.summary?.title === "Old");
  expect(memory.get("session")).toBe("a");
  current.dispose();
  live.dispose();
});
