// A key typed into the page: who keeps it, and where it must not be found.

import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PROTOCOL, framesFromPage, type PageFrame } from "../src/gateway/webview-frames";
import type { Gateway } from "../src/gateway/gateway";
import { createWebviewGateway } from "../src/gateway/webview";
import { CheckProviderResponseSchema, KeyVerdict, SecretKeeper } from "../src/generated/portico/v1/agent_pb";
import {
  checkAndStoreKey,
  deleteKey,
  deleteRefusedKey,
  storageDescription,
  storeKey,
} from "../src/view/cards/key-storage";
import { MemoryServer } from "./memory-server";

const KEY = "sk-nobody-may-see-this";

/** A page in a webview: what it posts, what it asks to be remembered, and a way to answer it. */
class Webview {
  readonly posted: PageFrame[] = [];
  readonly remembered: unknown[] = [];
  readonly window = new EventTarget();

  open(): Gateway {
    vi.stubGlobal("window", this.window);
    vi.stubGlobal("document", { querySelector: () => null });
    return createWebviewGateway({
      postMessage: (post) => void this.posted.push(...framesFromPage(post)),
      getState: () => this.remembered.at(-1),
      setState: (state) => void this.remembered.push(state),
    });
  }

  answer(id: number, problem: string): void {
    const frame = { protocol: PROTOCOL, id, type: "key_set", payload: { problem } };
    this.window.dispatchEvent(new MessageEvent("message", { data: { protocol: PROTOCOL, frames: [frame] } }));
  }

  get sent(): PageFrame[] {
    return this.posted.filter(({ type }) => type !== "ready");
  }
}

let webview: Webview;
let gateway: Gateway;
beforeEach(() => {
  webview = new Webview();
  gateway = webview.open();
});
afterEach(() => void vi.unstubAllGlobals());

test("in the editor a key goes out in one frame, and nothing of it stays in the page", async () => {
  const outcome = storeKey(gateway, "A_KEY", KEY);
  expect(webview.sent).toEqual([
    { protocol: PROTOCOL, id: 1, type: "set_key", payload: { name: "A_KEY", value: KEY } },
  ]);
  webview.answer(1, "");
  expect((await outcome).done).toMatch(/^Key saved\./);
  expect((await outcome).problem).toBe("");
  gateway.memory.set("tabs", []);
  expect(JSON.stringify(webview.remembered)).not.toContain(KEY);
});

test("what is forgotten goes the same way, without a value", async () => {
  const outcome = deleteKey(gateway, "A_KEY");
  expect(webview.sent.map(({ payload }) => payload)).toEqual([{ name: "A_KEY", value: "" }]);
  webview.answer(1, "");
  expect(await outcome).toEqual({ done: "A_KEY deleted.", problem: "" });
});

test("each answer finds its own key, and one that belongs to none is not heard", async () => {
  const outcomes = [storeKey(gateway, "A_KEY", KEY), storeKey(gateway, "B_KEY", KEY)];
  webview.answer(7, "lost");
  webview.answer(2, "No room.");
  webview.answer(1, "");
  expect((await Promise.all(outcomes)).map(({ problem }) => problem)).toEqual(["", "No room."]);
});

test("in a browser the server keeps it, and the form says so", async () => {
  const browser = new MemoryServer().gateway();
  const setSecret = vi.fn(() =>
    Promise.resolve({ $typeName: "portico.v1.SetSecretResponse" as const, keeper: SecretKeeper.KEYRING }),
  );
  const outcome = await storeKey({ ...browser, client: { ...browser.client, setSecret } }, "A_KEY", KEY);
  expect(setSecret).toHaveBeenCalledWith({ name: "A_KEY", value: KEY });
  expect(outcome.done).toMatch(/^Saved in the keyring of this machine\./);
  expect(storageDescription(browser)).toContain("keyring of this machine");
  expect(storageDescription(gateway)).toMatch(/^Stored by VS Code/);
});

test.each([
  [KeyVerdict.ACCEPTED, "A provider.", "", 1],
  [KeyVerdict.REFUSED, "It rejected the key.", "It rejected the key. It was not saved.", 0],
  [KeyVerdict.UNKNOWN, "No answer.", "", 1],
])("a key is checked before it is kept: %s", async (verdict, detail, problem, kept) => {
  const browser = new MemoryServer().gateway();
  const setSecret = vi.fn(() =>
    Promise.resolve({ $typeName: "portico.v1.SetSecretResponse" as const, keeper: SecretKeeper.KEYRING }),
  );
  const checkProvider = vi.fn(() =>
    Promise.resolve(create(CheckProviderResponseSchema, { verdict, detail })),
  );
  const around = { ...browser, client: { ...browser.client, setSecret, checkProvider } };
  const outcome = await checkAndStoreKey(around, "A_KEY", KEY);
  expect(outcome.problem).toBe(problem);
  expect(outcome.done.includes("could not be checked: No answer.")).toBe(verdict === KeyVerdict.UNKNOWN);
  expect(setSecret).toHaveBeenCalledTimes(kept);
  const told = await deleteRefusedKey(around, "A_KEY");
  expect(told.includes("has been deleted")).toBe(verdict === KeyVerdict.REFUSED);
});
