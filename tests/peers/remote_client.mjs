// A client made with the official TypeScript SDK over its HTTP transport. It opens a session, sends one prompt and
// prints one JSON line: {"stopReason", "texts", "asked"}; permission requests get the first option that allows.
//
// Usage: node remote_client.mjs URL TOKEN FOLDER PROMPT

import { client, methods } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";

const [url, token, folder, prompt] = process.argv.slice(2);
const { session } = methods.client;
const texts = [];
let asked = 0;

const app = client({ name: "typescript-remote-client" })
  .onRequest(session.requestPermission, ({ params: { options } }) => {
    asked += 1;
    const { optionId } = options.find(({ kind }) => kind.startsWith("allow"));
    return { outcome: { outcome: "selected", optionId } };
  })
  .onNotification(session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk") texts.push(update.content.text);
  });

const stream = createHttpStream(url, { headers: { Authorization: `Bearer ${token}` } });
await app.connectWith(stream, async (context) => {
  await context.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await context.request("session/new", { cwd: folder, mcpServers: [] });
  const { stopReason } = await context.request("session/prompt", {
    sessionId,
    prompt: [{ type: "text", text: prompt }],
  });
  console.log(JSON.stringify({ stopReason, texts, asked }));
});
