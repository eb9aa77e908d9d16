// Reasons why Portico does not start, as text with remedies.

import { ProgramNotFound } from "./program-search";
import { ServerError } from "./program-runner";
import { IncompatibleVersion } from "./version";

/** The workspace folder is not trusted. */
export class UntrustedWorkspace extends Error {}

export type Remedy = "Install" | "Choose Program" | "Manage Trust" | "Restart Server" | "Show Log";

export function failureText(error: unknown): string {
  if (error instanceof ServerError) return `${error.message} ${error.suggestion}`.trim();
  return error instanceof Error ? error.message : String(error);
}

export function remediesFor(error: unknown): readonly Remedy[] {
  if (error instanceof UntrustedWorkspace) return ["Manage Trust"];
  if (error instanceof ProgramNotFound || error instanceof IncompatibleVersion)
    return ["Install", "Choose Program", "Show Log"];
  return ["Restart Server", "Choose Program", "Show Log"];
}

/** Suppresses a message that repeats the last one. */
export class RepeatFilter {
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
