// The extension's own calls to the server, beside those that it carries for the page.

import { Code, ConnectError, createClient, type Client, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { AgentService } from "../../../web/src/generated/portico/v1/agent_pb";
import { ErrorDetailsSchema } from "../../../web/src/generated/portico/v1/events_pb";
import type { Address, Server } from "./server";

export type Agents = Client<typeof AgentService>;

export class Link {
  readonly #server: Server;
  #known: { readonly address: Address; readonly client: Agents } | undefined;

  constructor(server: Server) {
    this.#server = server;
  }

  /** Whether it runs, as far as is known. What nobody has asked for starts no server. */
  get isUp(): boolean {
    return this.#server.state.value.state === "running";
  }

  /** Calls the server, which is started for it if it does not run. */
  async call<Answer>(act: (client: Agents) => Promise<Answer>): Promise<Answer> {
    const address = await this.#server.address();
    try {
      return await act(this.#client(address));
    } catch (reason) {
      if (isAway(reason)) this.#server.lost(address);
      throw reason;
    }
  }

  #client(address: Address): Agents {
    if (this.#known?.address !== address) {
      const withToken: Interceptor = (next) => (request) => {
        request.header.set("Authorization", `Bearer ${address.token}`);
        return next(request);
      };
      const transport = createConnectTransport({
        baseUrl: `http://127.0.0.1:${address.port}`,
        httpVersion: "1.1",
        interceptors: [withToken],
      });
      this.#known = { address, client: createClient(AgentService, transport) };
    }
    return this.#known.client;
  }
}

export function isAway(reason: unknown): boolean {
  return ConnectError.from(reason).code === Code.Unavailable;
}

/** What the server says of a failed call, and what to do about it. */
export function wordsOf(reason: unknown): string {
  if (reason instanceof ConnectError) {
    const [details] = reason.findDetails(ErrorDetailsSchema);
    return `${reason.rawMessage} ${details?.suggestion ?? ""}`.trim();
  }
  return reason instanceof Error ? reason.message : String(reason);
}
