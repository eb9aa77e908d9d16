// Writes the editor state to a file for agents in a terminal. The file is replaced as a whole shortly after changes,
// and touched while the window is open, so that the file of a dead window is old after half a minute.

import { mkdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

export const STATE_VARIABLE = "PORTICO_EDITOR_STATE_FILE";
export const SETTLED = 100;
export const TOUCH_EVERY = 10_000;

export interface EditorState {
  readonly activeFile?: string;
  readonly languageId?: string;
  readonly selection?: { readonly text: string; readonly startLine: number; readonly endLine: number };
  readonly openFiles: readonly string[];
  readonly diagnostics: readonly EditorProblem[];
  readonly workspaceFolders: readonly string[];
}

export interface EditorProblem {
  readonly message: string;
  readonly path: string;
  readonly line: number;
  readonly severity: string;
}

export class StateFile {
  readonly #file: string;
  readonly #look: () => EditorState;
  readonly #touching: NodeJS.Timeout;
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(file: string, look: () => EditorState) {
    this.#file = file;
    this.#look = look;
    this.#touching = setInterval(() => this.#next(() => this.#touch()), TOUCH_EVERY);
  }

  /** Schedules a write. */
  changed(): void {
    if (this.#ended) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#next(() => this.#write()), SETTLED);
  }

  /** Resolves when pending writes are done. */
  settled(): Promise<void> {
    return this.#last;
  }

  /** Stops and deletes the file. */
  async dispose(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    clearInterval(this.#touching);
    this.#next(() => rm(this.#file, { force: true }));
    await this.#last;
  }

  /** Write errors are ignored. */
  #next(act: () => Promise<void>): void {
    this.#last = this.#last.then(act).catch(() => undefined);
  }

  async #write(): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    const beside = `${this.#file}.new`;
    await writeFile(beside, JSON.stringify(this.#look()), { mode: 0o600 });
    await rename(beside, this.#file);
  }

  async #touch(): Promise<void> {
    const now = new Date();
    await utimes(this.#file, now, now);
  }
}
