// Carries the calls of one page to the server and the answers back, without reading either.

import { request, type ClientRequest, type IncomingMessage } from "node:http";
import { PROTOCOL, type CallPayload, type FromExtension } from "../../../web/src/gateway/frames";
import type { Address, Server } from "../server/server";

const SERVICE = "/portico.v1.AgentService/";
/** What belongs to a connection, or is for the extension alone to say. */
const OURS = new Set([
  "host",
  "connection",
  "content-length",
  "authorization",
  "cookie",
  "origin",
  "accept-encoding",
]);

export class Calls {
  readonly #server: Server;
  readonly #tell: (frame: FromExtension) => void;
  readonly #open = new Map<number, ClientRequest | undefined>();

  constructor(server: Server, tell: (frame: FromExtension) => void) {
    this.#server = server;
    this.#tell = tell;
  }

  /** Begins a call. One that is malformed is refused like one that the server refuses. */
  async begin(id: number, payload: CallPayload): Promise<void> {
    if (!isCall(payload) || this.#open.has(id)) {
      this.#refuse(id, "The page sent a call that makes no sense.");
      return;
    }
    this.#open.set(id, undefined);
    try {
      const address = await this.#server.address();
      if (this.#open.has(id)) this.#send(id, address, payload);
    } catch (error) {
      this.#fail(id, error instanceof Error ? error.message : String(error));
    }
  }

  cancel(id: number): void {
    const call = this.#open.get(id);
    if (this.#open.delete(id)) call?.destroy();
  }

  dispose(): void {
    for (const id of [...this.#open.keys()]) this.cancel(id);
  }

  #send(id: number, address: Address, { path, headers, body }: CallPayload): void {
    const kept = headers.filter(([name]) => !OURS.has(name.toLowerCase()));
    const call = request({
      host: "127.0.0.1",
      port: address.port,
      path,
      method: "POST",
      headers: {
        ...Object.fromEntries(kept),
        "content-length": body.byteLength,
        authorization: `Bearer ${address.token}`,
      },
    });
    this.#open.set(id, call);
    call.on("response", (response) => this.#answer(id, response));
    call.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") this.#server.lost(address);
      this.#fail(id, error.message);
    });
    call.end(body);
  }

  #answer(id: number, response: IncomingMessage): void {
    const headers = Object.entries(response.headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    );
    this.#tell({
      protocol: PROTOCOL,
      id,
      type: "head",
      payload: { status: response.statusCode ?? 502, headers },
    });
    response.on("data", (chunk: Buffer) => {
      if (this.#open.has(id))
        this.#tell({ protocol: PROTOCOL, id, type: "chunk", payload: new Uint8Array(chunk) });
    });
    response.on("end", () => {
      if (this.#open.delete(id)) this.#tell({ protocol: PROTOCOL, id, type: "end", payload: null });
    });
    response.on("error", (error) => this.#fail(id, error.message));
  }

  /** A call that the page has taken back cannot fail any more. */
  #fail(id: number, message: string): void {
    if (this.#open.delete(id)) this.#refuse(id, message);
  }

  #refuse(id: number, message: string): void {
    this.#tell({ protocol: PROTOCOL, id, type: "failed", payload: { message } });
  }
}

function isCall(payload: unknown): payload is CallPayload {
  if (typeof payload !== "object" || payload === null) return false;
  if (!("path" in payload) || !("headers" in payload) || !("body" in payload)) return false;
  const { path, headers, body } = payload;
  return (
    typeof path === "string" &&
    path.startsWith(SERVICE) &&
    /^[A-Za-z]+$/.test(path.slice(SERVICE.length)) &&
    Array.isArray(headers) &&
    headers.every(
      (one) => Array.isArray(one) && one.length === 2 && one.every((part) => typeof part === "string"),
    ) &&
    body instanceof Uint8Array
  );
}
