// Forwards the calls of one page to the server and the answers back, without reading either.

import { request, type ClientRequest, type IncomingMessage } from "node:http";
import { PROTOCOL, type CallPayload, type ExtensionFrame } from "../../../web/src/gateway/webview-frames";
import { SETTINGS_HEADER } from "../server/connection";
import type { ServerAddress, Server } from "../server/server";

const SERVICE = "/portico.v1.AgentService/";
/** Headers of the connection, and those that only the extension may set. */
const OURS = new Set([
  "host",
  "connection",
  "content-length",
  "authorization",
  "cookie",
  "origin",
  "accept-encoding",
  SETTINGS_HEADER,
]);

type Tell = (frame: ExtensionFrame) => void;

export class PageCalls {
  readonly #server: Server;
  readonly #tell: Tell;
  readonly #settings: () => string;
  readonly #open = new Map<number, Call>();

  /** `settings` are those of this window, as the header of a call. */
  constructor(server: Server, tell: Tell, settings: () => string = () => "") {
    this.#server = server;
    this.#tell = tell;
    this.#settings = settings;
  }

  /** Begins a call. One that is malformed is refused like one that the server refuses. */
  async begin(id: number, payload: CallPayload): Promise<void> {
    if (!isCall(payload) || this.#open.has(id)) {
      const message = "Invalid call.";
      this.#tell({ protocol: PROTOCOL, id, type: "failed", payload: { message } });
      return;
    }
    const call = new Call(id, this.#tell, () => {
      if (this.#open.get(id) === call) this.#open.delete(id);
    });
    this.#open.set(id, call);
    const headers: CallPayload["headers"] = [
      ...payload.headers.filter(([name]) => !OURS.has(name.toLowerCase())),
      [SETTINGS_HEADER, this.#settings()],
    ];
    await call.send(this.#server, { ...payload, headers });
  }

  cancel(id: number): void {
    this.#open.get(id)?.cancel();
  }

  /** Detaches from a closed page. Its calls still reach the server, because the user may have pressed Enter and left. */
  detach(): void {
    for (const call of this.#open.values()) call.detach();
    this.#open.clear();
  }
}

class Call {
  readonly #id: number;
  readonly #tell: Tell;
  readonly #over: () => void;
  #request: ClientRequest | undefined;
  #isAnswered = false;
  #state: "open" | "left" | "over" = "open";

  constructor(id: number, tell: Tell, over: () => void) {
    this.#id = id;
    this.#tell = tell;
    this.#over = over;
  }

  async send(server: Server, { path, headers, body }: CallPayload): Promise<void> {
    try {
      const address = await server.address();
      if (this.#state === "over") return;
      const request = this.#begin(address, path, Object.fromEntries(headers), body.byteLength);
      request.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ECONNREFUSED") server.reportLost(address);
        this.#fail(error.message);
      });
      request.end(body);
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  cancel(): void {
    this.#end();
    this.#request?.destroy();
  }

  /** Ignores the answer, and closes the call once the server has it. */
  detach(): void {
    if (this.#isAnswered) this.cancel();
    else this.#state = "left";
  }

  #begin(
    address: ServerAddress,
    path: string,
    headers: Record<string, string>,
    length: number,
  ): ClientRequest {
    this.#request = request({
      host: "127.0.0.1",
      port: address.port,
      path,
      method: "POST",
      headers: { ...headers, "content-length": length, authorization: `Bearer ${address.token}` },
    });
    return this.#request.on("response", (response) => this.#answer(response));
  }

  #answer(response: IncomingMessage): void {
    const headers = Object.entries(response.headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    );
    const head = { status: response.statusCode ?? 502, headers };
    this.#say({ protocol: PROTOCOL, id: this.#id, type: "head", payload: head });
    response.on("data", (chunk: Buffer) => {
      this.#isAnswered = true;
      if (this.#state === "left") this.cancel();
      this.#say({ protocol: PROTOCOL, id: this.#id, type: "chunk", payload: new Uint8Array(chunk) });
    });
    response.on("end", () => {
      this.#say({ protocol: PROTOCOL, id: this.#id, type: "end", payload: null });
      this.#end();
    });
    response.on("error", (error) => this.#fail(error.message));
  }

  #fail(message: string): void {
    this.#say({ protocol: PROTOCOL, id: this.#id, type: "failed", payload: { message } });
    this.#end();
  }

  /** A call that the page has taken back says nothing any more. */
  #say(frame: ExtensionFrame): void {
    if (this.#state === "open") this.#tell(frame);
  }

  #end(): void {
    this.#state = "over";
    this.#over();
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
