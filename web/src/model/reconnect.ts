// Keeps one stream from the server open: notices when it is broken, waits, and opens it again.
// It knows nothing of what is said; whoever talks takes up where it left off.

import { signal, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../gateway/types";
import type { Cancel, World } from "../gateway/world";
import { isSignedOut } from "./failures";
import type { Connection } from "./types";

const SHORTEST_WAIT = 250;
const LONGEST_WAIT = 5_000;
/** The server sends a heartbeat every 15 s. */
const LONGEST_SILENCE = 40_000;

/** One attempt to talk with the server. */
export class Line {
  readonly #end = new AbortController();
  readonly #onReached: () => void;
  readonly #world: World;
  #lastSign: number;
  #watchdog: Cancel = () => undefined;
  heardStream = false;

  constructor(world: World, onReached: () => void) {
    this.#world = world;
    this.#onReached = onReached;
    this.#lastSign = world.now();
    this.#watch();
  }

  /** For the calls of this attempt. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** The server answers. */
  reached(): void {
    if (this.signal.aborted) return;
    this.#lastSign = this.#world.now();
    this.#watch();
    this.#onReached();
  }

  /** Something came over the stream. */
  heard(): void {
    this.heardStream = true;
    this.reached();
  }

  /** Gives up if nothing has come for too long: timers rest while a machine sleeps. */
  check(): void {
    if (this.#world.now() - this.#lastSign >= LONGEST_SILENCE) this.break();
  }

  break(): void {
    this.#watchdog();
    this.#end.abort();
  }

  #watch(): void {
    this.#watchdog();
    this.#watchdog = this.#world.after(LONGEST_SILENCE, () => this.break());
  }
}

export interface Talk {
  /** Talks until the stream ends, however it ends. Uses the line's signal for every call. */
  talk(line: Line): Promise<void>;
  /** Is told why a talk ended; true if there is no use in another. */
  ended(reason: unknown): boolean;
}

export class Reconnector {
  readonly #gateway: Gateway;
  readonly #world: World;
  readonly #talk: Talk;
  readonly #connection = signal<Connection>({ state: "connecting" });
  #line: Line | undefined;
  #resume: () => void = () => undefined;
  #running: AbortController | undefined;
  #outdated = false;

  constructor(gateway: Gateway, world: World, talk: Talk) {
    this.#gateway = gateway;
    this.#world = world;
    this.#talk = talk;
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
    this.#is({ state: "connecting" });
    void this.#keepTalking(this.#running.signal);
  }

  pause(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.#line?.break();
    this.#resume();
  }

  async #keepTalking(paused: AbortSignal): Promise<void> {
    const forget = this.#world.onReturn(() => {
      this.#line?.check();
      this.#resume();
    });
    let attempt = 0;
    let since = 0;
    while (!paused.aborted) {
      const line = (this.#line = new Line(this.#world, () => this.#is({ state: "live" })));
      void this.#compareBuilds(line.signal);
      const reason = await this.#try(line);
      line.break();
      if (isPaused(paused)) break;
      if (this.#talk.ended(reason)) {
        this.#is({ state: "live" });
        this.#running = undefined;
        break;
      }
      if (line.heardStream || attempt === 0) since = this.#world.now();
      attempt = line.heardStream ? 1 : attempt + 1;
      const signedOut = isSignedOut(reason);
      this.#is(signedOut ? { state: "signed_out" } : { state: "reconnecting", since, attempt });
      await this.#wait(signedOut ? undefined : this.#patience(attempt));
    }
    forget();
  }

  /** Why the talk ended; undefined if the server just closed the stream. */
  async #try(line: Line): Promise<unknown> {
    try {
      await this.#talk.talk(line);
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
      if (this.#outdated) this.#is({ state: "outdated" });
    } catch {
      // Whatever keeps this call from being answered ends the talk as well.
    }
  }

  #patience(attempt: number): number {
    const longest = Math.min(LONGEST_WAIT, SHORTEST_WAIT * 2 ** (attempt - 1));
    return Math.max(SHORTEST_WAIT, longest * (0.5 + this.#world.random() / 2));
  }

  /** Until the time is over or the person is back; without a time, until the person is back. */
  async #wait(milliseconds: number | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
      if (milliseconds === undefined) return;
      const cancel = this.#world.after(milliseconds, resolve);
      this.#resume = () => {
        cancel();
        resolve();
      };
    });
  }

  /** A page that is too old stays so, whatever else happens. */
  #is(connection: Connection): void {
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
