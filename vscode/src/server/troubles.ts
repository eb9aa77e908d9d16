// What keeps Portico from starting, in words, with what can be done about it.

import { NoProgram } from "./program";
import { ServerFailed } from "./running";
import { WrongVersion } from "./version";

/** Somebody has to trust the folder first. */
export class NotTrusted extends Error {}

export type Remedy = "Install" | "Choose Program" | "Manage Trust" | "Restart Server" | "Show Log";

export function wordsFor(error: unknown): string {
  if (error instanceof ServerFailed) return `${error.message} ${error.suggestion}`.trim();
  return error instanceof Error ? error.message : String(error);
}

export function remediesFor(error: unknown): readonly Remedy[] {
  if (error instanceof NotTrusted) return ["Manage Trust"];
  if (error instanceof NoProgram || error instanceof WrongVersion)
    return ["Install", "Choose Program", "Show Log"];
  return ["Restart Server", "Choose Program", "Show Log"];
}

/** A page that tries again and again does not make anybody read the same words again and again. */
export class SaidOnce {
  #last = "";

  isNew(words: string): boolean {
    const isNew = words !== this.#last;
    this.#last = words;
    return isNew;
  }

  forget(): void {
    this.#last = "";
  }
}
