// A service of this process, with as much of the contract as a test gives it, and the server that it is reached through.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { vi } from "vitest";
import { AgentService } from "../../web/src/generated/portico/v1/agent_pb";
import { Server, type ServerState } from "../src/server/server";
import { Observable } from "../src/observable";

export interface FakeService {
  /** Runs from the first request for its address on. */
  readonly server: Server;
  /** Drops all connections, and stays. */
  drop(): void;
  close(): void;
}

export async function serve(service: Partial<ServiceImpl<typeof AgentService>>): Promise<FakeService> {
  const http = createServer(
    connectNodeAdapter({ routes: (router) => router.service(AgentService, service) }),
  );
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  const address = { port: (http.address() as AddressInfo).port, token: "t", version: "0.1.0" };
  const state = new Observable<ServerState>({ state: "off" });
  const server = new Server(() => Promise.reject(new Error("never started here")));
  vi.spyOn(server, "address").mockImplementation(() => {
    if (state.value.state !== "running") state.set({ state: "running", address });
    return Promise.resolve(address);
  });
  vi.spyOn(server, "state", "get").mockReturnValue(state);
  vi.spyOn(server, "reportLost").mockImplementation(() => state.set({ state: "off" }));
  return {
    server,
    drop: () => http.closeAllConnections(),
    close: () => {
      http.closeAllConnections();
      http.close();
    },
  };
}
