// Files that the draft mentions: picked ones, and typed ones that exist.

import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import type { SessionModel } from "../../model/types";
import { fileMentions, mentionsIn, withoutClosing } from "./mentions";

/** Names that are still being typed are not looked up. */
const PAUSE_MS = 400;
const MOST_ASKED = 20;

export class MentionedFiles {
  /** The same list as long as it has the same files. */
  readonly paths: ReadonlySignal<readonly string[]>;
  readonly #session: SessionModel;
  readonly #known = signal<ReadonlySet<string>>(new Set());
  readonly #asked = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(session: SessionModel) {
    this.#session = session;
    let before: readonly string[] = [];
    this.paths = computed(() => {
      const known = this.#known.value;
      const paths = fileMentions(session.draft.value, (path) => known.has(path)).map(({ path }) => path);
      const now = [...new Set(paths)];
      if (now.length !== before.length || now.some((path, place) => path !== before[place])) before = now;
      return before;
    });
  }

  learn(path: string): void {
    this.#known.value = new Set(this.#known.peek()).add(path);
  }

  /** Checks names typed by hand until it is stopped. */
  follow(): () => void {
    const stop = effect(() => {
      clearTimeout(this.#timer);
      if (this.#unknownIn(this.#session.draft.value).length === 0) return;
      this.#timer = setTimeout(() => void this.#ask(), PAUSE_MS);
    });
    return () => {
      stop();
      clearTimeout(this.#timer);
    };
  }

  #unknownIn(text: string): readonly string[] {
    const paths = mentionsIn(text).map(({ path }) => path);
    return paths
      .filter((path) => !this.#known.peek().has(path) && !this.#asked.has(path))
      .slice(0, MOST_ASKED);
  }

  async #ask(): Promise<void> {
    if (this.#session.connection.peek().state !== "live") return;
    for (const mentioned of this.#unknownIn(this.#session.draft.peek())) {
      this.#asked.add(mentioned);
      const bare = withoutClosing(mentioned);
      const found = await this.#session.findFiles(bare);
      if (found === undefined) {
        this.#asked.delete(mentioned);
        return;
      }
      const named = [mentioned, bare].find((name) =>
        found.some(({ path }) => path === name || path === `${name}/`),
      );
      if (named !== undefined) this.learn(named);
    }
  }
}
