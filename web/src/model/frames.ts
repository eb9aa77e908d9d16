// Shows what has changed at most sixty times a second, however fast it changes.

import type { Cancel, World } from "../gateway/world";

/** A little less than the sixtieth of a second: frames are not punctual. */
const SHORTEST_FRAME = 15;

export class Frames {
  readonly #world: World;
  readonly #show: () => void;
  #next: Cancel | undefined;
  #last = -Infinity;

  constructor(world: World, show: () => void) {
    this.#world = world;
    this.#show = show;
  }

  /** Something has changed: it is shown with the next frame. */
  request(): void {
    this.#next ??= this.#world.frame(() => this.#draw());
  }

  /** Shows it now. */
  flush(): void {
    this.#next?.();
    this.#next = undefined;
    this.#last = this.#world.now();
    this.#show();
  }

  #draw(): void {
    this.#next = undefined;
    if (this.#world.now() - this.#last < SHORTEST_FRAME) this.request();
    else this.flush();
  }
}
