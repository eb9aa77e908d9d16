// Runs the portico program and reads its answer or its error.

import { execFile } from "node:child_process";

export class ServerError extends Error {
  readonly suggestion: string;

  constructor(message: string, suggestion: string) {
    super(message);
    this.suggestion = suggestion;
  }
}

export interface RunOptions {
  readonly environ: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}

const TIMEOUT = 60_000;
const MOST_SAID = 4 * 1024 * 1024;

export function runProgram(program: string, words: readonly string[], options: RunOptions): Promise<string> {
  const { environ, signal, timeout = TIMEOUT } = options;
  const limits = { timeout, maxBuffer: MOST_SAID, windowsHide: true };
  return new Promise((resolve, reject) => {
    execFile(
      program,
      words,
      { env: environ, ...limits, ...(signal && { signal }) },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(explain(error, stdout, stderr));
      },
    );
  });
}

/** The one object that a command prints for programs; undefined if it prints something else. */
export function parseAnswer(said: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const answer: unknown = JSON.parse(said);
    return typeof answer === "object" && answer !== null ? (answer as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A failure says in JSON what happened and what to do, unless the program is not Portico at all. */
function explain(error: Error, stdout: string, stderr: string): ServerError {
  const told = parseAnswer(stdout) as { error?: string; diagnostics?: { suggestion?: string } } | undefined;
  if (told !== undefined)
    return new ServerError(told.error ?? error.message, told.diagnostics?.suggestion ?? "");
  const last = stderr.trim().split("\n").at(-1) ?? "";
  return new ServerError(last === "" ? error.message : last, "Check the setting portico.program.");
}
