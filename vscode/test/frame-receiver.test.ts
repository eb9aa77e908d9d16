import { expect, test, vi } from "vitest";
import { PROTOCOL, type PageFrame } from "../../web/src/gateway/webview-frames";
import { createReceiver } from "../src/chat/frame-receiver";

const frame = (type: string, payload: unknown = null, id: unknown = 0): unknown => ({
  protocol: PROTOCOL,
  id,
  type,
  payload,
});
const post = (...frames: unknown[]): unknown => ({ protocol: PROTOCOL, frames });

test.each([
  ["nothing", undefined],
  ["null", null],
  ["words", "ready"],
  ["a list", [frame("ready")]],
  ["an object without frames", { protocol: PROTOCOL }],
  ["frames that are no list", { protocol: PROTOCOL, frames: frame("ready") }],
  ["another protocol", { protocol: PROTOCOL + 1, frames: [frame("ready")] }],
  ["a frame that is none", post(null)],
  ["a frame without a payload", post({ protocol: PROTOCOL, id: 0, type: "ready" })],
  ["an id that no number holds", post(frame("ready", null, Number.MAX_SAFE_INTEGER + 1))],
  ["an id that is no number", post(frame("ready", null, "7"))],
  ["a type that is none", post(frame(7 as unknown as string))],
])("%s is left alone and told", (_, data) => {
  const take = vi.fn();
  const complain = vi.fn();
  createReceiver(take, complain)(data);
  expect(take).not.toHaveBeenCalled();
  expect(complain).toHaveBeenCalledOnce();
});

test("a frame that fails holds no other up, and all that makes no sense is told once", () => {
  const taken: string[] = [];
  const complaints: string[] = [];
  const receive = createReceiver(
    ({ type }: PageFrame) => {
      if (type === "front") throw new Error("it names no session");
      taken.push(type);
    },
    (words) => complaints.push(words),
  );
  receive(post(frame("front"), frame("ready")));
  receive("garbage");
  receive(post(frame("reload"), frame("front"), frame("cancel")));
  expect(taken).toEqual(["ready", "reload", "cancel"]);
  expect(complaints).toEqual(["ignored an invalid message of the chat page: it names no session"]);
});
