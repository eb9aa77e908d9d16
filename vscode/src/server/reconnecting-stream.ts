// Keeps a stream from the running server open, and reopens it with backoff. Never starts a server.

import { setTimeout as passes } from "node:timers/promises";
import type { AgentClient, ServerConnection } from "./connection";
import type { Server } from "./server";
import type { Subscription } from "../observable";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;

/** Reads a stream to its end, and says each time that something came. */
type Read = (client: AgentClient, signal: AbortSignal, heard: () => void) => Promise<void>;

export class ReconnectingStream {
  readonly connection: ServerConnection;
  readonly #read: Read;
  readonly #isWanted: () => boolean;
  readonly #subscription: Subscription;
  #current: AbortController | undefined;

  constructor(server: Server, connection: ServerConnection, read: Read, isWanted = (): boolean => true) {
    this.connection = connection;
    this.#read = read;
    this.#isWanted = isWanted;
    this.#subscription = server.state.listen(({ state }) => {
      if (state === "running") this.restart();
      else if (state !== "starting") this.#current?.abort();
    });
  }

  /** Closes the stream and opens it again, if the server runs and the stream is wanted. */
  restart(): void {
    this.#current?.abort();
    this.#current = new AbortController();
    void this.#run(this.#current.signal);
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#current?.abort();
  }

  /** Reopens the stream while the server runs, whatever ended it. */
  async #run(signal: AbortSignal): Promise<void> {
    let wait = FIRST_WAIT;
    const heard = (): void => {
      wait = FIRST_WAIT;
    };
    while (!signal.aborted && this.connection.isRunning && this.#isWanted()) {
      await this.connection.call((client) => this.#read(client, signal, heard)).catch(() => undefined);
      await passes(wait, undefined, { signal }).catch(() => undefined);
      wait = Math.min(LONGEST_WAIT, wait * 2);
    }
  }
}
