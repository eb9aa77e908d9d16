// Full contents of a proposal's files, fetched one by one on request.

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { FileContents } from "../generated/portico/v1/agent_pb";
import { failureOf } from "./call-failure";

export class ProposalContents {
  readonly #known = new Map<string, Signal<FileContents | undefined>>();
  readonly #failed = new Map<string, Signal<string>>();
  readonly #loading = new Map<string, Promise<void>>();

  /** All of them belong to one revision. */
  constructor(
    readonly revision: number,
    readonly load: (path: string) => Promise<FileContents | undefined>,
  ) {}

  /** Undefined until it has been wanted and has come. */
  of(path: string): ReadonlySignal<FileContents | undefined> {
    return found(this.#known, path, undefined);
  }

  /** Reason why it could not be loaded; empty while it may still come. */
  failureOf(path: string): ReadonlySignal<string> {
    return found(this.#failed, path, "");
  }

  /** Fetches a file once; one that could not be had may be wanted again. */
  async request(path: string): Promise<void> {
    const loading = this.#loading.get(path) ?? this.#fetch(path);
    this.#loading.set(path, loading);
    await loading;
  }

  async #fetch(path: string): Promise<void> {
    found(this.#failed, path, "").value = "";
    try {
      const contents = await this.load(path);
      if (contents === undefined) throw new Error("The server has no more of this file.");
      found(this.#known, path, undefined).value = contents;
    } catch (reason) {
      found(this.#failed, path, "").value = failureOf(reason).message;
      this.#loading.delete(path);
    }
  }
}

function found<Value>(values: Map<string, Signal<Value>>, path: string, first: Value): Signal<Value> {
  const value = values.get(path) ?? signal(first);
  values.set(path, value);
  return value;
}
