// Posts to a webview cost a message between processes each: what comes within a sixtieth of a second goes as one.

import { PROTOCOL, type FromExtension, type Post } from "../../../web/src/gateway/frames";

export const POST_EVERY = 17;

export class FrameBatch {
  readonly #post: (post: Post<FromExtension>) => void;
  #waiting: FromExtension[] = [];
  #timer: NodeJS.Timeout | undefined;
  #last = -Infinity;

  constructor(post: (post: Post<FromExtension>) => void) {
    this.#post = post;
  }

  add(frame: FromExtension): void {
    this.#waiting.push(frame);
    if (this.#timer !== undefined) return;
    const wait = this.#last + POST_EVERY - performance.now();
    if (wait <= 0) this.#flush();
    else this.#timer = setTimeout(() => this.#flush(), wait);
  }

  /** Forgets what waits. Whoever adds more later begins anew. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
  }

  #flush(): void {
    this.#timer = undefined;
    this.#last = performance.now();
    const frames = this.#waiting;
    this.#waiting = [];
    this.#post({ protocol: PROTOCOL, frames });
  }
}
