// The extension's own calls to the server, besides those that it forwards for the page.

import { Code, ConnectError, createClient, type Client, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { AgentService } from "../../../web/src/generated/portico/v1/agent_pb";
import { ErrorDetailsSchema } from "../../../web/src/generated/portico/v1/events_pb";
import type { ServerAddress, Server } from "./server";

export const SETTINGS_HEADER = "portico-settings";

export type AgentClient = Client<typeof AgentService>;

export class ServerConnection {
  readonly #server: Server;
  readonly #settings: () => string;
  #known: { readonly address: ServerAddress; readonly client: AgentClient } | undefined;

  /** `settings` are those of this window, as the header of a call. */
  constructor(server: Server, settings: () => string = () => "") {
    this.#server = server;
    this.#settings = settings;
  }

  /** Whether the server is known to run. Background work must not start it. */
  get isRunning(): boolean {
    return this.#server.state.value.state === "running";
  }

  /** Calls the server, which is started for it if it does not run. */
  async call<Answer>(act: (client: AgentClient) => Promise<Answer>): Promise<Answer> {
    const address = await this.#server.address();
    try {
      return await act(this.#client(address));
    } catch (reason) {
      if (isUnavailable(reason)) this.#server.reportLost(address);
      throw reason;
    }
  }

  #client(address: ServerAddress): AgentClient {
    if (this.#known?.address !== address) {
      const withToken: Interceptor = (next) => (request) => {
        request.header.set("Authorization", `Bearer ${address.token}`);
        request.header.set(SETTINGS_HEADER, this.#settings());
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

export function isUnavailable(reason: unknown): boolean {
  return ConnectError.from(reason).code === Code.Unavailable;
}

/** The server's message for a failed call, with its suggestion. */
export function errorText(reason: unknown): string {
  if (reason instanceof ConnectError) {
    const [details] = reason.findDetails(ErrorDetailsSchema);
    return `${reason.rawMessage} ${details?.suggestion ?? ""}`.trim();
  }
  return reason instanceof Error ? reason.message : String(reason);
}
