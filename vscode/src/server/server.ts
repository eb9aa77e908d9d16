// The user's Portico server: started when it is first needed, shared with every other window and door, and
// never ended from here unless the person asks for it, because others may be using it.

import { readFile } from "node:fs/promises";
import { Told, type Listened } from "../told";
import { answerOf, run, ServerFailed } from "./running";
import { checkVersion } from "./version";

export interface Address {
  readonly port: number;
  readonly token: string;
  readonly version: string;
}

export interface Launch {
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
  | { readonly state: "running"; readonly address: Address }
  | { readonly state: "failed"; readonly error: unknown };

export class Server {
  readonly #launch: () => Promise<Launch>;
  readonly #state = new Told<ServerState>({ state: "off" });
  #address: Promise<Address> | undefined;
  #restarting: Promise<Address> | undefined;

  constructor(launch: () => Promise<Launch>) {
    this.#launch = launch;
  }

  get state(): Listened<ServerState> {
    return this.#state;
  }

  /** Where it is. Whoever asks while it is being started waits for the same start. */
  address(): Promise<Address> {
    return this.#address ?? this.#begin(() => this.#start());
  }

  /** It does not answer where it was: the next call looks for it again. */
  lost(address: Address): void {
    const known = this.#state.value;
    if (known.state === "running" && known.address === address) this.forget();
  }

  /** What was found or refused before does not count any more. */
  forget(): void {
    this.#address = undefined;
    this.#state.set({ state: "off" });
  }

  /** Ends it and starts it anew. Two restarts are one, and whoever needs it meanwhile waits for it. */
  restart(): Promise<Address> {
    if (this.#restarting !== undefined) return this.#restarting;
    const before = this.#address;
    const restarting = this.#begin(async () => {
      await before?.catch(() => undefined);
      const { program, environ } = await this.#launch();
      await run(program, ["stop", "--api"], { environ });
      return await this.#start();
    });
    this.#restarting = restarting;
    const over = (): void => {
      this.#restarting = undefined;
    };
    restarting.then(over, over);
    return restarting;
  }

  #begin(start: () => Promise<Address>): Promise<Address> {
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

  async #start(): Promise<Address> {
    const { program, folder, environ, wanted, port: chosen = 0 } = await this.#launch();
    await checkVersion(program, wanted, environ);
    const flags = chosen === 0 ? [] : ["--port", String(chosen)];
    const said = await run(program, ["serve", "--detach", "--api", "--cwd", folder, ...flags], { environ });
    const serving = answerOf(said);
    const { port, tokenFile, version } = serving ?? {};
    if (typeof port !== "number" || typeof tokenFile !== "string") {
      throw new ServerFailed(
        "The program does not answer as Portico does.",
        "Check the setting portico.program.",
      );
    }
    const token = (await readFile(tokenFile, "utf8")).trim();
    return { port, token, version: typeof version === "string" ? version : "" };
  }
}
