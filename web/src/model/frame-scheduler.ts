// Limits updates to sixty per second.

import type { Cancel, Environment } from "../gateway/environment";

/** A little less than the sixtieth of a second: frames are not punctual. */
const SHORTEST_FRAME = 15;

export class FrameScheduler {
  readonly #environment: Environment;
  readonly #show: () => void;
  #next: Cancel | undefined;
  #last = -Infinity;

  constructor(environment: Environment, show: () => void) {
    this.#environment = environment;
    this.#show = show;
  }

  /** Schedules an update for the next frame. */
  request(): void {
    this.#next ??= this.#environment.frame(() => this.#draw());
  }

  /** Shows it now. */
  flush(): void {
    this.#next?.();
    this.#next = undefined;
    this.#last = this.#environment.now();
    this.#show();
  }

  #draw(): void {
    this.#next = undefined;
    if (this.#environment.now() - this.#last < SHORTEST_FRAME) this.request();
    else this.flush();
  }
}
