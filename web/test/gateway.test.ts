// What the browser keeps for the page, how its token is exchanged, and how failed calls are put into words.

import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { SignIn } from "../src/gateway/sign-in";
import { createMemory, createDraftStore } from "../src/gateway/storage";
import { ErrorCode, ErrorDetailsSchema } from "../src/generated/portico/v1/events_pb";
import { failureOf, isLost, isSignedOut } from "../src/model/call-failure";

class TestStore {
  readonly kept = new Map<string, string>();
  full = false;

  getItem(key: string): string | null {
    return this.kept.get(key) ?? null;
  }

  setItem(key: string, value: string): void {
    if (this.full) throw new DOMException("full", "QuotaExceededError");
    this.kept.set(key, value);
  }

  removeItem(key: string): void {
    this.kept.delete(key);
  }
}

describe("memory", () => {
  test("everything stands under one key, and two pages do not forget each other's", () => {
    const store = new TestStore();
    const [one, other] = [createMemory(store), createMemory(store)];
    one.set("tabs", ["a"]);
    other.set("thinking", true);
    expect([one.get("tabs"), one.get("thinking")]).toEqual([["a"], true]);
    expect(store.kept.size).toBe(1);
  });

  test.each(["{", "null", '{"version":99,"values":{"a":1}}', '{"version":1,"values":null}'])(
    "what it cannot read (%s) is as good as nothing",
    (kept) => {
      const store = new TestStore();
      store.kept.set("portico", kept);
      const memory = createMemory(store);
      expect(memory.get("a")).toBeUndefined();
      memory.set("a", 2);
      expect(createMemory(store).get("a")).toBe(2);
    },
  );

  test.each(["full", "forbidden"])(
    "a browser whose storage is %s remembers until the page is closed",
    (state) => {
      const store = new TestStore();
      store.full = true;
      const memory = createMemory(state === "full" ? store : undefined);
      memory.set("a", 1);
      memory.set("b", 2);
      expect([memory.get("a"), memory.get("b")]).toEqual([1, 2]);
    },
  );
});

describe("the draftStore", () => {
  test("words outlive the page and are gone when they are taken away", () => {
    const store = new TestStore();
    createDraftStore(store).set("draft s1", "hello");
    const draftStore = createDraftStore(store);
    expect(draftStore.get("draft s1")).toBe("hello");
    draftStore.set("draft s1", undefined);
    expect([draftStore.get("draft s1"), store.kept.size]).toEqual([undefined, 0]);
  });

  test.each(["full", "forbidden"])("words are kept in the page where storage is %s", (state) => {
    const store = new TestStore();
    store.full = true;
    const draftStore = createDraftStore(state === "full" ? store : undefined);
    draftStore.set("draft s1", "hello");
    expect(draftStore.get("draft s1")).toBe("hello");
    draftStore.set("draft s1", undefined);
    expect(draftStore.get("draft s1")).toBeUndefined();
  });
});

describe("signing in", () => {
  class Place {
    readonly location: { hash: string; pathname: string; search: string };
    readonly shown: string[] = [];
    readonly tokens: (string | undefined)[] = [];
    readonly history = {
      replaceState: (_data: unknown, _unused: string, url?: string | URL | null) =>
        void this.shown.push(String(url)),
    };
    answer: () => Response = () => new Response(null, { status: 204 });
    readonly signIn: SignIn;

    constructor(hash: string) {
      this.location = { hash, pathname: "/", search: "?a=1" };
      this.signIn = new SignIn({
        location: this.location,
        history: this.history,
        fetch: async (_input, init) => {
          this.tokens.push(new Headers(init?.headers).get("Authorization") ?? undefined);
          return await Promise.resolve(this.answer());
        },
      });
    }
  }

  test("the token leaves the address bar at once and is exchanged once, however many calls wait", async () => {
    const place = new Place("#token=abc&session=s1");
    place.signIn.takeToken();
    expect(place.shown).toEqual(["/?a=1#session=s1"]);
    await Promise.all([place.signIn.ready(), place.signIn.ready()]);
    await place.signIn.ready();
    expect(place.tokens).toEqual(["Bearer abc"]);
  });

  test("without a token nothing is touched", async () => {
    const place = new Place("#session=s1");
    place.signIn.takeToken();
    await place.signIn.ready();
    expect([place.shown, place.tokens]).toEqual([[], []]);
  });

  test("a server that is away gets the token later", async () => {
    const place = new Place("#token=abc");
    place.signIn.takeToken();
    place.answer = () => {
      throw new TypeError("Failed to fetch");
    };
    await expect(place.signIn.ready()).rejects.toThrow("Failed to fetch");
    place.answer = () => new Response(null, { status: 503 });
    await expect(place.signIn.ready()).rejects.toThrow("503");
    place.answer = () => new Response(null, { status: 204 });
    await place.signIn.ready();
    await place.signIn.ready();
    expect(place.tokens).toHaveLength(3);
  });

  test("a token that is refused is not offered again", async () => {
    const place = new Place("#token=old");
    place.signIn.takeToken();
    place.answer = () => new Response(null, { status: 401 });
    await place.signIn.ready();
    await place.signIn.ready();
    expect(place.tokens).toHaveLength(1);
  });
});

describe("failures", () => {
  test("a refusal is told in the server's words", () => {
    const value = {
      code: ErrorCode.SESSION_BUSY,
      suggestion: "Queue it.",
      recoverable: true,
      agent: "porter",
    };
    const error = new ConnectError("Another turn runs.", Code.FailedPrecondition, undefined, [
      { desc: ErrorDetailsSchema, value },
    ]);
    expect(failureOf(error)).toMatchObject({
      code: "SESSION_BUSY",
      message: "Another turn runs.",
      suggestion: "Queue it.",
      recoverable: true,
      details: { agent: "porter" },
    });
    expect(isLost(error)).toBe(false);
  });

  test.each([
    new TypeError("Failed to fetch"),
    new ConnectError("", Code.Unavailable),
    "missing EndStreamResponse",
  ])("a call that reached nobody (%s) may be tried again", (reason) => {
    expect(isLost(reason)).toBe(true);
    const failure = failureOf(reason);
    expect(failure).toMatchObject({ code: "UNREACHABLE", recoverable: true });
    expect(failure.suggestion).toContain("Try again when it is back");
  });

  test("a page without a token is told what to do", () => {
    const error = new ConnectError("no", Code.Unauthenticated);
    expect([isSignedOut(error), isLost(error)]).toEqual([true, false]);
    expect(failureOf(error)).toMatchObject({ code: "UNAUTHENTICATED", recoverable: false });
  });

  test("a refusal without details keeps its own name and words", () => {
    expect(failureOf(new ConnectError("Too much.", Code.ResourceExhausted))).toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      message: "Too much.",
    });
  });
});
