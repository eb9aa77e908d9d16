// A server in memory that has many sessions and tells of every change to one of them.

import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import type { Gateway } from "../src/gateway/gateway";
import {
  AgentService,
  SessionSummarySchema,
  type SessionSummary,
} from "../src/generated/portico/v1/agent_pb";
import { createTestMemory, createTestDraftStore } from "./memory-server";

type Change = { case: "changed"; value: SessionSummary } | { case: "removedSessionId"; value: string };

export class DirectoryServer {
  readonly lists: { search: string; limit: number; afterSessionId: string }[] = [];
  /** Happens after a list is answered and before anybody watches. */
  betweenListAndWatch: () => void = () => undefined;
  /** Happens as soon as a client watches. */
  onWatch: () => void = () => undefined;
  /** Whether changes are told to those who watch. */
  tells = true;
  refusesRemoval = false;
  /** Of each removal, whether what the session proposes may go too. */
  readonly discards: boolean[] = [];
  readonly #sessions = new Map<string, SessionSummary>();
  readonly #watchers = new Set<(change: Change | undefined) => void>();
  #clock = 0;
  #running = true;
  #held: Promise<void> | undefined;

  get watchers(): number {
    return this.#watchers.size;
  }

  put(sessionId: string, title: string, workspace = "/w"): void {
    const updatedAt = { seconds: BigInt(++this.#clock), nanos: 0 };
    const summary = create(SessionSummarySchema, { sessionId, title, workspace, agent: "porter", updatedAt });
    this.#sessions.set(sessionId, summary);
    this.#tell({ case: "changed", value: summary });
  }

  remove(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#tell({ case: "removedSessionId", value: sessionId });
  }

  kill(): void {
    this.#running = false;
    this.#tell(undefined);
  }

  start(): void {
    this.#running = true;
  }

  /** The next list waits until it is let go. */
  holdNextList(): () => void {
    let release = (): void => undefined;
    this.#held = new Promise((resolve) => (release = resolve));
    return release;
  }

  gateway(): Gateway {
    const transport = createRouterTransport(
      ({ service }) =>
        service(AgentService, {
          getServerInfo: () => ({}),
          listSessions: async ({ search, limit, afterSessionId, workspace }) => {
            this.lists.push({ search, limit, afterSessionId });
            const held = this.#held;
            this.#held = undefined;
            await held;
            const all = [...this.#sessions.values()]
              .filter(
                (one) => one.title.includes(search) && (workspace === "" || one.workspace === workspace),
              )
              .sort((one, other) =>
                Number((other.updatedAt?.seconds ?? 0n) - (one.updatedAt?.seconds ?? 0n)),
              );
            const begin = all.findIndex((one) => one.sessionId === afterSessionId) + 1;
            return { sessions: all.slice(begin, begin + limit), more: all.length > begin + limit };
          },
          watchSessions: (_, { signal }) => this.#watch(signal),
          clearSession: ({ sessionId, discardProposals }) => {
            this.discards.push(discardProposals);
            if (this.refusesRemoval) throw new ConnectError("It is in use.", Code.FailedPrecondition);
            this.remove(sessionId);
            return {};
          },
        }),
      {
        transport: {
          interceptors: [
            (next) => async (request) => {
              if (!this.#running) throw new ConnectError("nobody listens", Code.Unavailable);
              return await next(request);
            },
          ],
        },
      },
    );
    return {
      client: createClient(AgentService, transport),
      clientId: "page-1",
      pageBuild: "",
      memory: createTestMemory(),
      draftStore: createTestDraftStore(),
      openLink: () => undefined,
      save: () => undefined,
      reload: () => undefined,
    };
  }

  #tell(change: Change | undefined): void {
    if (this.tells) for (const watcher of this.#watchers) watcher(change);
  }

  async *#watch(
    signal: AbortSignal,
  ): AsyncGenerator<{ change: Change | { case: "heartbeat"; value: object } }> {
    this.betweenListAndWatch();
    const changes: (Change | undefined)[] = [];
    let wake = (): void => undefined;
    const watcher = (change: Change | undefined): void => {
      changes.push(change);
      wake();
    };
    this.#watchers.add(watcher);
    this.onWatch();
    signal.addEventListener("abort", () => wake());
    try {
      yield { change: { case: "heartbeat", value: {} } };
      while (!signal.aborted) {
        for (const change of changes.splice(0)) {
          if (change === undefined) throw new ConnectError("killed", Code.Unavailable);
          yield { change };
        }
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#watchers.delete(watcher);
    }
  }
}
