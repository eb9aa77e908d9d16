import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  AttachEditorResponseSchema,
  type AttachEditorRequest,
  type AttachEditorResponse,
  type SubmitClientEventRequest,
} from "../../web/src/generated/portico/v1/agent_pb";
import {
  AttachedWindow,
  PATIENCE,
  type EditorWindow,
  type EditorResult,
  type ProblemList,
} from "../src/bridge/attached-window";
import { ServerConnection } from "../src/server/connection";
import type { Server } from "../src/server/server";
import { Observable } from "../src/observable";
import { serve, type FakeService } from "./fake-service";

type Update = NonNullable<MessageInitShape<typeof AttachEditorResponseSchema>["update"]>;

/** A service that a window attaches itself to, and that a test speaks through. */
class House {
  readonly attached = new Observable<readonly AttachEditorRequest[]>([]);
  readonly said = new Observable<readonly SubmitClientEventRequest[]>([]);
  readonly open = new Observable(0);
  #waiting: AttachEditorResponse[] = [];
  #wake: () => void = () => undefined;
  #service: FakeService | undefined;

  async serve(): Promise<Server> {
    this.#service = await serve({
      attachEditor: (request, { signal }) => this.#attach(request, signal),
      submitClientEvent: (request) => {
        this.said.set([...this.said.value, request]);
        return {};
      },
    });
    return this.#service.server;
  }

  send(update: Update): void {
    this.#waiting.push(create(AttachEditorResponseSchema, { update }));
    this.#wake();
  }

  ask(requestId: string, path: string): void {
    const request = { case: "readBuffer", value: { path } } as const;
    this.send({ case: "request", value: { requestId, sessionId: "s", request } });
  }

  close(): void {
    this.#service?.close();
  }

  get replies(): readonly [string, string][] {
    return this.said.value.flatMap(({ event }) =>
      event.case === "editorReply"
        ? [[event.value.requestId, JSON.stringify(event.value.result)] as [string, string]]
        : [],
    );
  }

  get tools(): readonly string[] {
    return this.said.value.flatMap(({ event }) =>
      event.case === "editorTools"
        ? [`${event.value.sessionId}:${event.value.tools.map(({ name }) => name).join(",")}`]
        : [],
    );
  }

  get states(): readonly {
    readonly editorId: string;
    readonly unsaved: string[];
    readonly focused: boolean;
  }[] {
    return this.said.value.flatMap(({ event }) => (event.case === "editorState" ? [event.value] : []));
  }

  async *#attach(request: AttachEditorRequest, signal: AbortSignal): AsyncGenerator<AttachEditorResponse> {
    this.attached.set([...this.attached.value, request]);
    this.open.set(this.open.value + 1);
    const editorId = `editor-${this.attached.value.length}`;
    yield create(AttachEditorResponseSchema, { update: { case: "attached", value: { editorId } } });
    while (!signal.aborted) {
      for (const update of this.#waiting.splice(0)) yield update;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    this.open.set(this.open.value - 1);
  }
}

class Pane implements EditorWindow {
  readonly name = "A window";
  readonly capabilities = { buffers: true };
  folders: readonly string[] = ["/here"];
  state = { unsaved: [] as string[], focused: false };
  tools: EditorWindow["tools"] = [];
  problems: EditorWindow["problems"] = new Map();
  readonly signals = new Map<string, AbortSignal>();
  readonly slow = new Map<string, (result: EditorResult) => void>();
  readonly asked: string[] = [];
  drawn: Promise<unknown> = Promise.resolve();

  responds(): Promise<unknown> {
    return this.drawn;
  }

  answer(
    request: Parameters<EditorWindow["answer"]>[0],
    sessionId: string,
    signal: AbortSignal,
  ): Promise<EditorResult> {
    if (request.case === "invokeTool")
      return Promise.resolve({ case: "tool", value: { text: `${request.value.name} for ${sessionId}` } });
    const path = request.case === "readBuffer" ? request.value.path : "";
    this.signals.set(path, signal);
    this.asked.push(path);
    if (path === "/broken") return Promise.reject(new Error("It is locked."));
    if (path === "/slow") return new Promise((resolve) => this.slow.set(path, resolve));
    return Promise.resolve({ case: "buffer", value: { text: `text of ${path}` } });
  }
}

let house: House;
let pane: Pane;
let server: Server;
let attachment: AttachedWindow;

beforeEach(async () => {
  house = new House();
  pane = new Pane();
  server = await house.serve();
  attachment = new AttachedWindow(server, new ServerConnection(server), pane);
});
afterEach(() => {
  attachment.dispose();
  house.close();
});

test("a window attaches itself once a server runs, says what it can, and how it stands", async () => {
  pane.state = { unsaved: ["/here/a.py"], focused: true };
  expect(house.attached.value).toEqual([]);
  await server.address();
  await vi.waitFor(() => expect(house.states).toHaveLength(1));
  expect(house.attached.value[0]).toMatchObject({ name: "A window", folders: ["/here"] });
  expect(house.attached.value[0]?.capabilities).toMatchObject({ buffers: true, edits: false });
  expect(house.states[0]).toMatchObject({ editorId: "editor-1", unsaved: ["/here/a.py"], focused: true });
});

test("tools are announced once, anew when they change, and for a session of their own", async () => {
  pane.tools = [{ name: "search" }];
  await server.address();
  await vi.waitFor(() => expect(house.tools).toEqual([":search"]));
  house.send({ case: "heartbeat", value: {} });
  pane.tools = [{ name: "search" }, { name: "deploy" }];
  house.send({ case: "heartbeat", value: {} });
  await vi.waitFor(() => expect(house.tools).toEqual([":search", ":search,deploy"]));
  expect(await attachment.announceTools("s9", [{ name: "weather" }])).toBe(true);
  expect(house.tools.at(-1)).toBe("s9:weather");
  const request = { case: "invokeTool", value: { name: "search", inputJson: "{}" } } as const;
  house.send({ case: "request", value: { requestId: "r1", sessionId: "s", request } });
  await vi.waitFor(() => expect(house.replies[0]?.[1]).toContain("search for s"));
});

test("problems that changed are reported, and those that are gone as none", async () => {
  const heard = (): unknown[] =>
    house.said.value.flatMap(({ event }) =>
      event.case === "editorProblems"
        ? [event.value.files.map(({ path, problems }) => [path, problems.map(({ message }) => message)])]
        : [],
    );
  const file = (path: string, ...messages: string[]): [string, ProblemList] => [
    path,
    { path, problems: messages.map((message) => ({ path, message })) },
  ];
  pane.problems = new Map([file("/here/a.py", "Odd."), file("/here/b.py", "Worse.")]);
  await server.address();
  await vi.waitFor(() => expect(heard()).toHaveLength(1));
  pane.problems = new Map([file("/here/a.py", "Odd.", "New.")]);
  attachment.problemsChanged();
  attachment.problemsChanged();
  await vi.waitFor(() => expect(heard()).toHaveLength(2));
  expect(heard()[1]).toEqual([
    ["/here/a.py", ["Odd.", "New."]],
    ["/here/b.py", []],
  ]);
});

test("many changes in a moment are told once, and what did not change is not told", async () => {
  await server.address();
  await vi.waitFor(() => expect(house.states).toHaveLength(1));
  attachment.changed();
  for (const letter of "abc") {
    pane.state = { unsaved: [`/here/${letter}`], focused: false };
    attachment.changed();
  }
  await vi.waitFor(() => expect(house.states).toHaveLength(2));
  expect(house.states[1]?.unsaved).toEqual(["/here/c"]);
});

test("a slow answer holds up no other, and a failure is an answer in words", async () => {
  await server.address();
  await vi.waitFor(() => expect(house.open.value).toBe(1));
  house.ask("1", "/slow");
  house.ask("2", "/here/a.py");
  house.ask("3", "/broken");
  await vi.waitFor(() => expect(house.replies).toHaveLength(2));
  expect(house.replies.map(([id]) => id).sort()).toEqual(["2", "3"]);
  expect(Object.fromEntries(house.replies)["2"]).toContain("text of /here/a.py");
  expect(Object.fromEntries(house.replies)["3"]).toContain("It is locked.");
  pane.slow.get("/slow")?.({ case: "buffer", value: {} });
  await vi.waitFor(() => expect(house.replies.at(-1)?.[0]).toBe("1"));
  expect(house.said.value.at(-1)?.sessionId).toBe("s");
});

test("an answer that nobody waits for any more is not given", async () => {
  await server.address();
  await vi.waitFor(() => expect(house.open.value).toBe(1));
  house.ask("1", "/slow");
  await vi.waitFor(() => expect(pane.slow.size).toBe(1));
  house.send({ case: "cancelled", value: { requestId: "1" } });
  await vi.waitFor(() => expect(pane.signals.get("/slow")?.aborted).toBe(true));
  pane.slow.get("/slow")?.({ case: "buffer", value: {} });
  house.ask("2", "/here/a.py");
  await vi.waitFor(() => expect(house.replies).toHaveLength(1));
  expect(house.replies[0]?.[0]).toBe("2");
});

test("a window whose folders change attaches itself anew, and one without folders does not", async () => {
  pane.folders = [];
  await server.address();
  attachment.reattach();
  pane.folders = ["/there", "/here"];
  attachment.reattach();
  await vi.waitFor(() => expect(house.states).toHaveLength(1));
  expect(house.attached.value.map(({ folders }) => folders)).toEqual([["/there", "/here"]]);
  pane.folders = ["/elsewhere"];
  attachment.reattach();
  await vi.waitFor(() => expect(house.states.at(-1)?.editorId).toBe("editor-2"));
  await vi.waitFor(() => expect(house.open.value).toBe(1));
});

test("a server that went away is not called back", async () => {
  await server.address();
  await vi.waitFor(() => expect(house.open.value).toBe(1));
  const states: string[] = [];
  server.state.listen(({ state }) => states.push(state));
  house.close();
  await vi.waitFor(() => expect(server.state.value.state).toBe("off"));
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(states).toEqual(["off"]);
});

test("a window that is gone while its extensions go on is not attached until it is back, and does nothing late", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    await server.address();
    await vi.waitFor(() => expect(house.open.value).toBe(1));
    let comeBack: (value: unknown) => void = () => undefined;
    pane.drawn = new Promise((resolve) => (comeBack = resolve));
    house.ask("1", "/here/a.py");
    house.send({ case: "heartbeat", value: {} });
    await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0));
    expect(house.attached.value).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(PATIENCE);
    await vi.waitFor(() => expect(house.open.value).toBe(0));
    comeBack(undefined);
    await vi.waitFor(() => expect(house.attached.value).toHaveLength(2));
    await vi.waitFor(() => expect(house.open.value).toBe(1));
    house.ask("2", "/here/b.py");
    await vi.waitFor(() => expect(house.replies.map(([id]) => id)).toEqual(["2"]));
    expect(pane.asked).toEqual(["/here/b.py"]);
  } finally {
    vi.useRealTimers();
  }
});
