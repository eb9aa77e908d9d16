import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import type { CallPayload, ExtensionFrame } from "../../web/src/gateway/webview-frames";
import { PageCalls } from "../src/chat/page-calls";
import { Server, type ServerAddress } from "../src/server/server";

const PATH = "/portico.v1.AgentService/GetServerInfo";
const call = (change: Partial<CallPayload> = {}): CallPayload => ({
  path: PATH,
  headers: [["content-type", "application/proto"]],
  body: new Uint8Array([1, 2]),
  ...change,
});

let listening: HttpServer | undefined;
afterEach(() => void listening?.close());

async function serve(
  act: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<ServerAddress> {
  const server = createServer(act);
  listening = server;
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { port: (server.address() as AddressInfo).port, token: "secret", version: "1" };
}

function at(address: ServerAddress): Server {
  const server = new Server(() => Promise.reject(new Error("never started here")));
  vi.spyOn(server, "address").mockResolvedValue(address);
  return server;
}

/** All frames up to the one that ends the call. */
async function carried(address: ServerAddress, payload: CallPayload): Promise<ExtensionFrame[]> {
  const frames: ExtensionFrame[] = [];
  await new Promise<void>((done) => {
    const calls = new PageCalls(at(address), (frame) => {
      frames.push(frame);
      if (frame.type === "end" || frame.type === "failed") done();
    });
    void calls.begin(7, payload);
  });
  return frames;
}

test("a call is carried with the token, and its answer back in pieces", async () => {
  let asked: IncomingMessage | undefined;
  const address = await serve((request, response) => {
    asked = request;
    request.on("data", (body: Buffer) => {
      response.setHeader("content-type", "application/proto");
      response.end(Buffer.from([...body].reverse()));
    });
  });
  const frames = await carried(
    address,
    call({
      headers: [
        ["x-mine", "1"],
        ["authorization", "Bearer forged"],
      ],
    }),
  );
  expect(asked?.headers).toMatchObject({ authorization: "Bearer secret", "x-mine": "1" });
  expect(asked?.headers.origin).toBeUndefined();
  expect(frames.map((frame) => [frame.id, frame.type])).toEqual([
    [7, "head"],
    [7, "chunk"],
    [7, "end"],
  ]);
  expect(frames[1]?.payload).toEqual(new Uint8Array([2, 1]));
});

test.each([
  ["a path beside the service", call({ path: "/healthz" })],
  ["a path that climbs", call({ path: "/portico.v1.AgentService/../page" })],
  ["a whole address", call({ path: "http://elsewhere/portico.v1.AgentService/Watch" })],
  ["no body", { path: PATH, headers: [] } as unknown as CallPayload],
  ["headers that are none", call({ headers: "x" as unknown as [] })],
  ["nothing", null as unknown as CallPayload],
])("a call with %s is refused and reaches no server", async (_, payload) => {
  let reached = false;
  const address = await serve((_request, response) => {
    reached = true;
    response.end();
  });
  const frames = await carried(address, payload);
  expect(frames.map((frame) => frame.type)).toEqual(["failed"]);
  expect(reached).toBe(false);
});

test("a server that has gone is looked for again", async () => {
  const address = await serve(() => undefined);
  await new Promise<void>((done) => listening?.close(() => done()));
  const server = at(address);
  const lost = vi.spyOn(server, "reportLost");
  await new Promise<void>((done) => {
    const calls = new PageCalls(server, (frame) => {
      if (frame.type === "failed") done();
    });
    void calls.begin(1, call());
  });
  expect(lost).toHaveBeenCalledWith(address);
});

test("a call that the page takes back ends at the server too", async () => {
  const frames: ExtensionFrame[] = [];
  await new Promise<void>((ended) => {
    void serve((_request, response) => {
      response.writeHead(200).write("first");
      response.on("close", () => ended());
    }).then((address) => {
      const calls = new PageCalls(at(address), (frame) => {
        frames.push(frame);
        if (frame.type === "chunk") calls.cancel(3);
      });
      return calls.begin(3, call());
    });
  });
  expect(frames.map((frame) => frame.type)).toEqual(["head", "chunk"]);
});

test("what a page has asked for before it was hidden reaches the server, and a stream that it reads ends", async () => {
  const frames: ExtensionFrame[] = [];
  const asked: string[] = [];
  await new Promise<void>((ended) => {
    let closed = 0;
    void serve((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(200).write("first");
      response.on("close", () => {
        if (++closed === 2) ended();
      });
    }).then(async (address) => {
      const calls = new PageCalls(at(address), (frame) => {
        frames.push(frame);
        if (frame.type !== "chunk") return;
        void calls.begin(2, call({ path: "/portico.v1.AgentService/Invoke" }));
        calls.detach();
      });
      await calls.begin(1, call({ path: "/portico.v1.AgentService/Watch" }));
    });
  });
  expect(asked).toEqual(["/portico.v1.AgentService/Watch", "/portico.v1.AgentService/Invoke"]);
  expect(frames.map(({ id, type }) => [id, type])).toEqual([
    [1, "head"],
    [1, "chunk"],
  ]);
});
