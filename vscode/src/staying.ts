// Keeps a stream from the server open for as long as both are there. It never starts a server.

import { setTimeout as passes } from "node:timers/promises";
import type { Agents, Link } from "./server/link";
import type { Server } from "./server/server";
import type { Listening } from "./told";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;

/** Reads a stream to its end, and says each time that something came. */
type Read = (client: Agents, signal: AbortSignal, heard: () => void) => Promise<void>;

export class Staying {
  readonly #link: Link;
  readonly #read: Read;
  readonly #isWanted: () => boolean;
  readonly #following: Listening;
  #staying: AbortController | undefined;

  constructor(server: Server, link: Link, read: Read, isWanted = (): boolean => true) {
    this.#link = link;
    this.#read = read;
    this.#isWanted = isWanted;
    this.#following = server.state.listen(({ state }) => {
      if (state === "running") this.begin();
      else if (state !== "starting") this.#staying?.abort();
    });
  }

  /** Ends what is open and begins anew, if there is a server and somebody wants it. */
  begin(): void {
    this.#staying?.abort();
    this.#staying = new AbortController();
    void this.#stay(this.#staying.signal);
  }

  dispose(): void {
    this.#following.dispose();
    this.#staying?.abort();
  }

  /** A server that went away has told so to everybody; whatever else ends a stream, it is opened again. */
  async #stay(signal: AbortSignal): Promise<void> {
    let wait = FIRST_WAIT;
    const heard = (): void => {
      wait = FIRST_WAIT;
    };
    while (!signal.aborted && this.#link.isUp && this.#isWanted()) {
      await this.#link.call((client) => this.#read(client, signal, heard)).catch(() => undefined);
      await passes(wait, undefined, { signal }).catch(() => undefined);
      wait = Math.min(LONGEST_WAIT, wait * 2);
    }
  }
}
