// A fetch for a page that cannot reach the server: its calls go through the extension as frames.

import { PROTOCOL, type ExtensionFrame, type PageFrame } from "./webview-frames";

interface OpenCall {
  readonly answer: (response: Response) => void;
  readonly refuse: (error: unknown) => void;
  body: ReadableStreamDefaultController<Uint8Array> | undefined;
}

export class Tunnel {
  readonly #post: (frame: PageFrame) => void;
  readonly #calls = new Map<number, OpenCall>();
  #last = 0;

  constructor(post: (frame: PageFrame) => void) {
    this.#post = post;
  }

  /** Posts the call in the same task: a page may be discarded right after the key that sends a prompt. */
  readonly fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const { signal } = init;
    signal?.throwIfAborted();
    const id = ++this.#last;
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const payload = { path: pathname, headers: [...new Headers(init.headers)], body: bytesOf(init.body) };
    return await new Promise<Response>((answer, refuse) => {
      this.#calls.set(id, { answer, refuse, body: undefined });
      signal?.addEventListener("abort", () => this.#abort(id, signal.reason), { once: true });
      this.#post({ protocol: PROTOCOL, id, type: "call", payload });
    });
  };

  /** Handles a frame of a call. Frames of closed calls are late and dropped. */
  take(frame: ExtensionFrame): void {
    const call = this.#calls.get(frame.id);
    if (call === undefined) return;
    switch (frame.type) {
      case "head":
        call.answer(this.#response(frame.id, call, frame.payload.status, frame.payload.headers));
        break;
      case "chunk":
        call.body?.enqueue(frame.payload);
        break;
      case "end":
        this.#calls.delete(frame.id);
        call.body?.close();
        break;
      case "failed":
        this.#fail(frame.id, new TypeError(frame.payload.message));
        break;
      case "editor_context":
      case "command":
      case "key_set":
        break;
    }
  }

  #response(
    id: number,
    call: OpenCall,
    status: number,
    headers: readonly (readonly [string, string])[],
  ): Response {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        call.body = controller;
      },
      cancel: () => this.#giveUp(id),
    });
    return new Response(body, {
      status,
      headers: headers.map(([name, value]): [string, string] => [name, value]),
    });
  }

  #abort(id: number, reason: unknown): void {
    if (!this.#calls.has(id)) return;
    this.#fail(id, reason);
    this.#post({ protocol: PROTOCOL, id, type: "cancel", payload: null });
  }

  #giveUp(id: number): void {
    if (this.#calls.delete(id)) this.#post({ protocol: PROTOCOL, id, type: "cancel", payload: null });
  }

  #fail(id: number, error: unknown): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (call?.body === undefined) call?.refuse(error);
    else call.body.error(error);
  }
}

/** Calls of the client library have bytes or nothing as their body. */
function bytesOf(body: BodyInit | null | undefined): Uint8Array {
  if (body === undefined || body === null) return new Uint8Array();
  if (body instanceof Uint8Array) return new Uint8Array(body);
  throw new TypeError("A call takes its body as bytes.");
}
