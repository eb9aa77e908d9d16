// Keeps one stream from the server open: detects when it is broken, waits, and opens it again. The handler resumes
// where it left off.

import { signal, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import type { Cancel, Environment } from "../gateway/environment";
import { isSignedOut } from "./call-failure";
import type { Connection } from "./types";

const SHORTEST_WAIT = 250;
const LONGEST_WAIT = 5_000;
/** The server sends a heartbeat every 15 s. */
const LONGEST_SILENCE = 40_000;

/** One attempt to talk with the server. */
export class StreamAttempt {
  readonly #end = new AbortController();
  readonly #onReached: () => void;
  readonly #environment: Environment;
  #lastSign: number;
  #watchdog: Cancel = () => undefined;
  receivedData = false;

  constructor(environment: Environment, onReached: () => void) {
    this.#environment = environment;
    this.#onReached = onReached;
    this.#lastSign = environment.now();
    this.#watch();
  }

  /** For the calls of this attempt. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** The server answers. */
  connected(): void {
    if (this.signal.aborted) return;
    this.#lastSign = this.#environment.now();
    this.#watch();
    this.#onReached();
  }

  /** Notes that the stream is alive. */
  received(): void {
    this.receivedData = true;
    this.connected();
  }

  /** Gives up if nothing has come for too long: timers rest while a machine sleeps. */
  check(): void {
    if (this.#environment.now() - this.#lastSign >= LONGEST_SILENCE) this.abort();
  }

  abort(): void {
    this.#watchdog();
    this.#end.abort();
  }

  #watch(): void {
    this.#watchdog();
    this.#watchdog = this.#environment.after(LONGEST_SILENCE, () => this.abort());
  }
}

export interface StreamHandler {
  /** Talks until the stream ends, however it ends. Uses the line's signal for every call. */
  run(attempt: StreamAttempt): Promise<void>;
  /** Called with the reason for the end; returns true if reconnecting is pointless. */
  ended(reason: unknown): boolean;
}

export class Reconnector {
  readonly #gateway: Gateway;
  readonly #environment: Environment;
  readonly #handler: StreamHandler;
  readonly #connection = signal<Connection>({ state: "connecting" });
  #attempt: StreamAttempt | undefined;
  #resume: () => void = () => undefined;
  #running: AbortController | undefined;
  #outdated = false;

  constructor(gateway: Gateway, environment: Environment, handler: StreamHandler) {
    this.#gateway = gateway;
    this.#environment = environment;
    this.#handler = handler;
  }

  get connection(): ReadonlySignal<Connection> {
    return this.#connection;
  }

  /** Talks, now and again, until it is paused; while it waits for another try, it waits no longer. */
  wake(): void {
    if (this.#running !== undefined) {
      this.#resume();
      return;
    }
    this.#running = new AbortController();
    this.#setConnection({ state: "connecting" });
    void this.#keepOpen(this.#running.signal);
  }

  pause(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.#attempt?.abort();
    this.#resume();
  }

  async #keepOpen(paused: AbortSignal): Promise<void> {
    const forget = this.#environment.onReturn(() => {
      this.#attempt?.check();
      this.#resume();
    });
    let attempt = 0;
    let since = 0;
    while (!paused.aborted) {
      const line = (this.#attempt = new StreamAttempt(this.#environment, () =>
        this.#setConnection({ state: "live" }),
      ));
      void this.#compareBuilds(line.signal);
      const reason = await this.#try(line);
      line.abort();
      if (isPaused(paused)) break;
      if (this.#handler.ended(reason)) {
        this.#setConnection({ state: "live" });
        this.#running = undefined;
        break;
      }
      if (line.receivedData || attempt === 0) since = this.#environment.now();
      attempt = line.receivedData ? 1 : attempt + 1;
      const signedOut = isSignedOut(reason);
      this.#setConnection(signedOut ? { state: "signed_out" } : { state: "reconnecting", since, attempt });
      await this.#wait(signedOut ? undefined : this.#delay(attempt));
    }
    forget();
  }

  /** Reason why the stream ended; undefined if the server just closed it. */
  async #try(attempt: StreamAttempt): Promise<unknown> {
    try {
      await this.#handler.run(attempt);
      return undefined;
    } catch (reason) {
      return reason;
    }
  }

  async #compareBuilds(signal: AbortSignal): Promise<void> {
    try {
      const { pageBuild } = await this.#gateway.client.getServerInfo({}, { signal });
      this.#outdated =
        pageBuild !== "" && this.#gateway.pageBuild !== "" && pageBuild !== this.#gateway.pageBuild;
      if (this.#outdated) this.#setConnection({ state: "outdated" });
    } catch {
      // Whatever keeps this call from being answered ends the talk as well.
    }
  }

  #delay(attempt: number): number {
    const longest = Math.min(LONGEST_WAIT, SHORTEST_WAIT * 2 ** (attempt - 1));
    return Math.max(SHORTEST_WAIT, longest * (0.5 + this.#environment.random() / 2));
  }

  /** Until the time is over or the person is back; without a time, until the person is back. */
  async #wait(milliseconds: number | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
      if (milliseconds === undefined) return;
      const cancel = this.#environment.after(milliseconds, resolve);
      this.#resume = () => {
        cancel();
        resolve();
      };
    });
  }

  /** A page that is too old stays so, whatever else happens. */
  #setConnection(connection: Connection): void {
    const next: Connection =
      this.#outdated && connection.state !== "signed_out" ? { state: "outdated" } : connection;
    if (next.state === this.#connection.peek().state && next.state !== "reconnecting") return;
    this.#connection.value = next;
  }
}

/** Asked anew: the signal may have been aborted while something was awaited. */
function isPaused(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** Whether calls reach the server. A page older than its server still does. */
export function isConnected({ state }: Connection): boolean {
  return state === "live" || state === "outdated";
}
