import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { beforeEach, expect, test, vi } from "vitest";
import { SessionDetailSchema, SessionSummarySchema } from "../../web/src/generated/portico/v1/agent_pb";
import { TurnState } from "../../web/src/generated/portico/v1/events_pb";
import type { Services } from "../src/services";
import type { SessionMap } from "../src/sessions/session-registry";
import { Observable } from "../src/observable";
import { SessionNotifications } from "../src/chat/session-notifications";

/** Notifications as VS Code shows them, and those that are still there. */
const window = vi.hoisted(() => ({ shown: [] as string[], open: new Set<string>() }));

vi.mock("vscode", () => {
  const show = (words: string): Promise<undefined> => {
    window.shown.push(words);
    return Promise.resolve(undefined);
  };
  const nothing = { dispose: () => undefined };
  return {
    Disposable: { from: () => nothing },
    ProgressLocation: { Notification: 15 },
    commands: { registerCommand: () => nothing },
    window: {
      showInformationMessage: show,
      showWarningMessage: show,
      withProgress: async ({ title }: { title: string }, task: (...given: unknown[]) => Promise<unknown>) => {
        window.shown.push(title);
        window.open.add(title);
        const answer = await task({ report: () => undefined }, { onCancellationRequested: () => nothing });
        window.open.delete(title);
        return answer;
      },
    },
  };
});

type Facts = MessageInitShape<typeof SessionSummarySchema>;

const { RUNNING, STREAMING, AWAITING, COMPLETED, INTERRUPTED, CANCELED } = TurnState;
const toldElsewhere = new Set<string>();
let sessions: Observable<SessionMap>;
const chat = { isVisible: false, changed: (): void => undefined };
let permissions: { requestId: string; title: string }[] = [];

const are = (...all: Facts[]): void =>
  sessions.set(
    new Map(
      all.map((one) => ["s", create(SessionSummarySchema, { sessionId: "s", title: "Boats", ...one })]),
    ),
  );

beforeEach(() => {
  toldElsewhere.clear();
  window.shown.length = 0;
  window.open.clear();
  permissions = [];
  sessions = new Observable<SessionMap>(new Map());
  const getSession = () =>
    Promise.resolve({
      session: create(SessionDetailSchema, { summary: sessions.value.get("s"), permissions }),
    });
  new SessionNotifications({
    toldElsewhere,
    chat: {
      get isVisible() {
        return chat.isVisible;
      },
      onDidChangeVisibility: (listener: () => void) => (chat.changed = listener),
    },
    sessions: { all: sessions },
    folders: { contains: () => true },
    connection: { call: (act: (client: unknown) => unknown) => act({ getSession }) },
  } as unknown as Services);
});

test.each([
  ["a turn that ended", { state: STREAMING }, { state: COMPLETED }, ["Portico: “Boats” is done."]],
  ["a turn that broke", { state: RUNNING }, { state: INTERRUPTED }, ["Portico: “Boats” failed."]],
  ["a stop by the person", { state: RUNNING }, { state: CANCELED }, []],
  ["more words", { state: STREAMING }, { state: STREAMING }, []],
])("%s is told or not", (_, before, now, told) => {
  are(before);
  are(now);
  expect(window.shown).toEqual(told);
});

test("the end of a session that a command shows itself is not told twice", () => {
  toldElsewhere.add("s");
  are({ state: STREAMING });
  are({ state: COMPLETED });
  expect(window.shown).toEqual([]);
});

test("of sessions that are seen for the first time, only those that wait are told of", async () => {
  are({ state: COMPLETED });
  expect(window.shown).toEqual([]);
  sessions.set(new Map());
  permissions = [{ requestId: "r", title: "Paint [it](command:x)" }];
  are({ state: AWAITING, waiting: 1 });
  await vi.waitFor(() => expect(window.shown).toHaveLength(1));
  expect(window.shown[0]).toContain("“Boats” asks: Paint (it)(command:x) — [Open]");
});

test("a question is asked once, until it is answered elsewhere, and one that comes with it is asked too", async () => {
  permissions = [{ requestId: "a", title: "Scrape" }];
  are({ state: AWAITING, waiting: 1 });
  await vi.waitFor(() => expect(window.open.size).toBe(1));
  permissions = [...permissions, { requestId: "b", title: "Tar" }];
  are({ state: AWAITING, waiting: 2 });
  await vi.waitFor(() => expect(window.open.size).toBe(2));
  permissions = permissions.slice(1);
  are({ state: AWAITING, waiting: 1 });
  await vi.waitFor(() => expect([...window.open].join()).not.toContain("Scrape"));
  expect(window.shown).toHaveLength(2);
  are();
  permissions = [];
  await vi.waitFor(() => expect(window.open.size).toBe(0));
});

test("what is asked out here goes away when a chat is in sight, and comes back when it is not", async () => {
  permissions = [{ requestId: "r", title: "Rope" }];
  are({ state: AWAITING, waiting: 1 });
  await vi.waitFor(() => expect(window.open.size).toBe(1));
  chat.isVisible = true;
  chat.changed();
  await vi.waitFor(() => expect(window.open.size).toBe(0));
  chat.isVisible = false;
  chat.changed();
  await vi.waitFor(() => expect(window.open.size).toBe(1));
  expect(window.shown).toHaveLength(2);
});
