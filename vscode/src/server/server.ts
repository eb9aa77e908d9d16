// The user's Portico server: started on first use, shared with other windows and clients, and stopped only on request.

import { readFile } from "node:fs/promises";
import { Observable, type ReadonlyObservable } from "../observable";
import { parseAnswer, runProgram, ServerError } from "./program-runner";
import { checkVersion } from "./version";

export interface ServerAddress {
  readonly port: number;
  readonly token: string;
  readonly version: string;
}

export interface LaunchOptions {
  readonly program: string;
  readonly folder: string;
  readonly environ: NodeJS.ProcessEnv;
  /** The version that the program must fit. */
  readonly wanted: string;
  /** Zero: the latest one, or any. */
  readonly port?: number;
}

export type ServerState =
  | { readonly state: "off" }
  | { readonly state: "starting" }
  | { readonly state: "running"; readonly address: ServerAddress }
  | { readonly state: "failed"; readonly error: unknown };

export class Server {
  readonly #launch: () => Promise<LaunchOptions>;
  readonly #state = new Observable<ServerState>({ state: "off" });
  #address: Promise<ServerAddress> | undefined;
  #restarting: Promise<ServerAddress> | undefined;

  constructor(launch: () => Promise<LaunchOptions>) {
    this.#launch = launch;
  }

  get state(): ReadonlyObservable<ServerState> {
    return this.#state;
  }

  /** Address of the server, which is started if needed. Concurrent calls share one start. */
  address(): Promise<ServerAddress> {
    return this.#address ?? this.#begin(() => this.#start());
  }

  /** It does not answer where it was: the next call looks for it again. */
  reportLost(address: ServerAddress): void {
    const known = this.#state.value;
    if (known.state === "running" && known.address === address) this.reset();
  }

  /** Forgets earlier results, so that the next start searches again. */
  reset(): void {
    this.#address = undefined;
    this.#state.set({ state: "off" });
  }

  /** Restarts the server. Concurrent restarts are one, and calls wait for it. */
  restart(): Promise<ServerAddress> {
    if (this.#restarting !== undefined) return this.#restarting;
    const before = this.#address;
    const restarting = this.#begin(async () => {
      await before?.catch(() => undefined);
      const { program, environ } = await this.#launch();
      await runProgram(program, ["stop", "--api"], { environ });
      return await this.#start();
    });
    this.#restarting = restarting;
    const over = (): void => {
      this.#restarting = undefined;
    };
    restarting.then(over, over);
    return restarting;
  }

  #begin(start: () => Promise<ServerAddress>): Promise<ServerAddress> {
    const starting = start();
    this.#address = starting;
    this.#state.set({ state: "starting" });
    starting.then(
      (address) => {
        if (this.#address === starting) this.#state.set({ state: "running", address });
      },
      (error: unknown) => {
        if (this.#address !== starting) return;
        this.#address = undefined;
        this.#state.set({ state: "failed", error });
      },
    );
    return starting;
  }

  async #start(): Promise<ServerAddress> {
    const { program, folder, environ, wanted, port: chosen = 0 } = await this.#launch();
    await checkVersion(program, wanted, environ);
    const flags = chosen === 0 ? [] : ["--port", String(chosen)];
    const said = await runProgram(program, ["serve", "--detach", "--api", "--cwd", folder, ...flags], {
      environ,
    });
    const serving = parseAnswer(said);
    const { port, tokenFile, version } = serving ?? {};
    if (typeof port !== "number" || typeof tokenFile !== "string") {
      throw new ServerError("The program is not Portico.", "Check the setting portico.program.");
    }
    const token = (await readFile(tokenFile, "utf8")).trim();
    return { port, token, version: typeof version === "string" ? version : "" };
  }
}
