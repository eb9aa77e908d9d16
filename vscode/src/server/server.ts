// The user's Portico server: started when it is first needed, shared with every other window and door, and
// never ended from here, because others may be using it.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";

export interface Address {
  readonly port: number;
  readonly token: string;
  readonly version: string;
}

export interface Launch {
  readonly program: string;
  readonly folder: string;
  readonly environ: NodeJS.ProcessEnv;
}

export class ServerFailed extends Error {
  readonly suggestion: string;

  constructor(message: string, suggestion: string) {
    super(message);
    this.suggestion = suggestion;
  }
}

export class Server {
  readonly #launch: () => Promise<Launch>;
  readonly #failed: (error: unknown) => void;
  #address: Promise<Address> | undefined;

  constructor(launch: () => Promise<Launch>, failed: (error: unknown) => void) {
    this.#launch = launch;
    this.#failed = failed;
  }

  /** Where it is. Whoever asks while it is being started waits for the same start. */
  address(): Promise<Address> {
    if (this.#address === undefined) {
      const starting = this.#start();
      this.#address = starting;
      starting.catch((error: unknown) => {
        this.#failed(error);
        if (this.#address === starting) this.#address = undefined;
      });
    }
    return this.#address;
  }

  /** It does not answer where it was: the next call looks for it again. */
  lost(address: Address): void {
    const known = this.#address;
    void known?.then(
      (found) => {
        if (found === address && this.#address === known) this.#address = undefined;
      },
      () => undefined,
    );
  }

  async #start(): Promise<Address> {
    const { program, folder, environ } = await this.#launch();
    const said = await run(program, ["serve", "--detach", "--api", "--cwd", folder], environ);
    const serving = parse(said);
    const token = (await readFile(serving.tokenFile, "utf8")).trim();
    return { port: serving.port, token, version: serving.version };
  }
}

function run(program: string, words: readonly string[], environ: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      program,
      words,
      { env: environ, timeout: 60_000, windowsHide: true },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(explain(error, stdout, stderr));
      },
    );
  });
}

/** A failure says in JSON what happened and what to do, unless the program is not Portico at all. */
function explain(error: Error, stdout: string, stderr: string): ServerFailed {
  try {
    const told = JSON.parse(stdout) as { error?: string; diagnostics?: { suggestion?: string } };
    return new ServerFailed(told.error ?? error.message, told.diagnostics?.suggestion ?? "");
  } catch {
    return new ServerFailed(stderr.trim() || error.message, "Check the setting portico.program.");
  }
}

interface Serving {
  readonly port: number;
  readonly tokenFile: string;
  readonly version: string;
}

function parse(said: string): Serving {
  try {
    const serving = JSON.parse(said) as Partial<Serving>;
    if (typeof serving.port === "number" && typeof serving.tokenFile === "string") {
      return { port: serving.port, tokenFile: serving.tokenFile, version: serving.version ?? "" };
    }
  } catch {
    // Said below.
  }
  throw new ServerFailed(
    "The program does not answer as Portico does.",
    "Check the setting portico.program, and that it is a Portico of this version.",
  );
}
