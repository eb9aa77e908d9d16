// An agent made with the official TypeScript SDK that takes MCP over ACP.
// The last block of a prompt is a list of calls as JSON, [server name, method, params]; the outcomes are said back as
// JSON. The call ["", "prompt"] says back the prompt.

import { Readable, Writable } from "node:stream";
import { agent, McpOverAcpCaller, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk/unstable";

const caller = new McpOverAcpCaller({ clientInfo: { name: "typescript-peer", version: "1.0.0" } });
const sessions = new Map();

async function ask(client, server, method, params) {
  const notifications = [];
  const cancellation = new AbortController();
  const onNotification = (notification) => {
    notifications.push(notification);
    if (params.cancelOnProgress) cancellation.abort();
  };
  try {
    const outcome = await caller.request(client, server.serverId, method, params, {
      onNotification,
      signal: cancellation.signal,
    });
    return { outcome, notifications };
  } catch (error) {
    return { code: error.code, notifications };
  }
}

const connection = agent({ name: "typescript-peer" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: { mcpCapabilities: { acp: true } },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    const sessionId = `ts-${sessions.size}`;
    sessions.set(sessionId, new Map(params.mcpServers.map((server) => [server.name, server])));
    return { sessionId };
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const servers = sessions.get(params.sessionId);
    const said = [];
    for (const [name, method, inner] of JSON.parse(params.prompt.at(-1).text)) {
      if (method === "prompt") {
        said.push(params.prompt);
        continue;
      }
      said.push(await ask(client, servers.get(name) ?? { serverId: name }, method, inner));
    }
    const content = { type: "text", text: JSON.stringify(said) };
    const update = { sessionUpdate: "agent_message_chunk", content };
    await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    return { stopReason: "end_turn" };
  })
  .onNotification(methods.agent.mcp.message, caller.handleNotification)
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

await connection.closed;
