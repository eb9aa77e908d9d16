// A client made with the official TypeScript SDK that offers an MCP server over ACP.
// It opens a session and answers what it is asked until the connection ends.

import { Readable, Writable } from "node:stream";
import {
  client,
  McpOverAcpProvider,
  McpProtocolError,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
} from "@agentclientprotocol/sdk/unstable";

const provider = new McpOverAcpProvider();

async function handler({ method, params, clientInfo, notify, signal }) {
  switch (method) {
    case "server/discover":
      return {
        result: {
          supportedVersions: ["2026-07-28"],
          capabilities: { tools: {} },
          resultType: "complete",
          ttlMs: 0,
          cacheScope: "private",
          _meta: { "io.modelcontextprotocol/serverInfo": { name: "typescript-tools", version: "3" } },
        },
      };
    case "tools/call":
      if (params.name === "wait") {
        await notify("notifications/progress", { progressToken: params._meta.progressToken, progress: 1 });
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }
      return { result: { content: [{ type: "text", text: `hello ${clientInfo.name}` }], resultType: "complete" } };
    default:
      throw new McpProtocolError(-32601, `no ${method}`);
  }
}

const connection = client({ name: "typescript-client" })
  .onRequest(methods.client.mcp.message, provider.handleRequest)
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
const tools = provider.registerServer(connection.agent, { name: "editor", handler });
const { agentCapabilities } = await connection.agent.request(methods.agent.initialize, {
  protocolVersion: PROTOCOL_VERSION,
  clientCapabilities: {},
});
const mcpServers = agentCapabilities?.mcpCapabilities?.acp ? [tools.declaration] : [];
await connection.agent.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers });
await connection.closed;
