// Keys of models on their way to the editor, which keeps them. What comes back says only whether it does.

import { PROTOCOL, type PageFrame } from "./webview-frames";
import type { KeyStore } from "./gateway";

export class EditorKeys implements KeyStore {
  readonly #post: (frame: PageFrame) => void;
  readonly #waiting = new Map<number, (problem: string) => void>();
  #last = 0;

  constructor(post: (frame: PageFrame) => void) {
    this.#post = post;
  }

  set(name: string, value: string): Promise<string> {
    const id = ++this.#last;
    return new Promise((answered) => {
      this.#waiting.set(id, answered);
      this.#post({ protocol: PROTOCOL, id, type: "set_key", payload: { name, value } });
    });
  }

  /** The editor has answered. */
  take(id: number, problem: string): void {
    this.#waiting.get(id)?.(problem);
    this.#waiting.delete(id);
  }
}
