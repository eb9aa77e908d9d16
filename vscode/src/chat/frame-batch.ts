// Batches frames for a webview: all frames of a sixtieth of a second are one message between processes.

import { PROTOCOL, type ExtensionFrame, type FramePost } from "../../../web/src/gateway/webview-frames";

export const POST_EVERY = 17;

export class FrameBatch {
  readonly #post: (post: FramePost<ExtensionFrame>) => void;
  #waiting: ExtensionFrame[] = [];
  #timer: NodeJS.Timeout | undefined;
  #last = -Infinity;

  constructor(post: (post: FramePost<ExtensionFrame>) => void) {
    this.#post = post;
  }

  add(frame: ExtensionFrame): void {
    this.#waiting.push(frame);
    if (this.#timer !== undefined) return;
    const wait = this.#last + POST_EVERY - performance.now();
    if (wait <= 0) this.#flush();
    else this.#timer = setTimeout(() => this.#flush(), wait);
  }

  /** Drops waiting frames. More may be added later. */
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
