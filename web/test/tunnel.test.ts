import { expect, test } from "vitest";
import { PROTOCOL, framesFromExtension, framesFromPage, type PageFrame } from "../src/gateway/webview-frames";
import { Tunnel } from "../src/gateway/tunnel";

const ADDRESS = "https://portico.invalid/portico.v1.AgentService/Watch";

/** A tunnel whose frames are looked at, and answered by hand. */
function opened() {
  const frames: PageFrame[] = [];
  return { frames, tunnel: new Tunnel((frame) => void frames.push(frame)) };
}

const head = (id: number, status = 200) =>
  ({ protocol: PROTOCOL, id, type: "head", payload: { status, headers: [["x-a", "1"]] } }) as const;
const chunk = (id: number, text: string) =>
  ({ protocol: PROTOCOL, id, type: "chunk", payload: new TextEncoder().encode(text) }) as const;
const end = (id: number) => ({ protocol: PROTOCOL, id, type: "end", payload: null }) as const;

test("a call goes out at once as one frame and its answer comes back in pieces", async () => {
  const { frames, tunnel } = opened();
  const answer = tunnel.fetch(ADDRESS, {
    method: "POST",
    headers: { "x-b": "2" },
    body: new Uint8Array([7]),
  });
  expect(frames[0]).toMatchObject({
    type: "call",
    payload: { path: "/portico.v1.AgentService/Watch", body: new Uint8Array([7]) },
  });
  tunnel.take(head(1));
  const response = await answer;
  tunnel.take(chunk(1, "one "));
  tunnel.take(chunk(1, "two"));
  tunnel.take(end(1));
  expect([response.status, response.headers.get("x-a"), await response.text()]).toEqual([
    200,
    "1",
    "one two",
  ]);
});

test("answers to several calls at once find their own", async () => {
  const { tunnel } = opened();
  const answers = [tunnel.fetch(ADDRESS, { method: "POST" }), tunnel.fetch(ADDRESS, { method: "POST" })];
  for (const id of [2, 1]) {
    tunnel.take(head(id));
    tunnel.take(chunk(id, `call ${id}`));
    tunnel.take(end(id));
  }
  expect(await Promise.all(answers.map(async (answer) => await (await answer).text()))).toEqual([
    "call 1",
    "call 2",
  ]);
});

test("a call that is taken back is taken back at the server, and what still comes is not heard", async () => {
  const { frames, tunnel } = opened();
  const stop = new AbortController();
  const answer = tunnel.fetch(ADDRESS, { method: "POST", signal: stop.signal });
  tunnel.take(head(1));
  const response = await answer;
  stop.abort(new Error("enough"));
  tunnel.take(chunk(1, "late"));
  tunnel.take(end(1));
  await expect(response.text()).rejects.toThrow("enough");
  expect(frames.map((frame) => frame.type)).toEqual(["call", "cancel"]);
});

test("a reader that leaves ends the call", async () => {
  const { frames, tunnel } = opened();
  const answer = tunnel.fetch(ADDRESS, { method: "POST" });
  tunnel.take(head(1));
  await (await answer).body?.cancel();
  expect(frames.map((frame) => frame.type)).toEqual(["call", "cancel"]);
});

test.each([false, true])("a server that fails is an error of the call (begun: %s)", async (begun) => {
  const { tunnel } = opened();
  const answer = tunnel.fetch(ADDRESS, { method: "POST" });
  if (begun) tunnel.take(head(1));
  tunnel.take({ protocol: PROTOCOL, id: 1, type: "failed", payload: { message: "gone" } });
  await expect(answer.then((response) => response.text())).rejects.toThrow("gone");
});

test.each([
  undefined,
  "text",
  { protocol: 2, frames: [] },
  { protocol: 1, frames: {} },
  { protocol: 1, frames: [{ id: "1", type: "call", payload: null }] },
  { protocol: 1, frames: [null] },
])("a post that is none of ours has no frames: %j", (post) => {
  expect(framesFromExtension(post)).toEqual([]);
  expect(framesFromPage(post)).toEqual([]);
});
