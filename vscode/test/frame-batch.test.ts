import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PROTOCOL, type ExtensionFrame, type FramePost } from "../../web/src/gateway/webview-frames";
import { FrameBatch } from "../src/chat/frame-batch";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const chunk = (id: number): ExtensionFrame => ({
  protocol: PROTOCOL,
  id,
  type: "chunk",
  payload: new Uint8Array(1),
});

test("ten thousand pieces in a second are sixty posts, in order and none twice", () => {
  const posts: FramePost<ExtensionFrame>[] = [];
  const posting = new FrameBatch((post) => posts.push(post));
  for (let place = 0; place < 10_000; place++) {
    posting.add(chunk(place));
    if (place % 10 === 9) vi.advanceTimersByTime(1);
  }
  vi.runAllTimers();
  expect(posts.length).toBeLessThanOrEqual(60);
  expect(posts.flatMap((post) => post.frames.map((frame) => frame.id))).toEqual([...Array(10_000).keys()]);
});

test("a single piece goes at once", () => {
  const posts: FramePost<ExtensionFrame>[] = [];
  new FrameBatch((post) => posts.push(post)).add(chunk(1));
  expect(posts).toHaveLength(1);
});

test("nothing is posted to a view that is gone", () => {
  const posts: FramePost<ExtensionFrame>[] = [];
  const posting = new FrameBatch((post) => posts.push(post));
  posting.add(chunk(1));
  posting.add(chunk(2));
  posting.dispose();
  vi.runAllTimers();
  expect(posts).toHaveLength(1);
});
