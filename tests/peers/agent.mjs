// An agent made with the official TypeScript SDK. What it does depends on the first word of the prompt.
//
//   everything   text, thoughts, a plan, files, a diff with a permission, a terminal, other updates
//   wait         says a word and waits to be cancelled
//   anything     is said back
//
// Usage: node agent.mjs FOLDER        sessions are remembered in FOLDER, one empty file each

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";

const folder = process.argv[2];
const workspaces = new Map();
const cancellations = new Map();

const fileOf = (sessionId) => join(folder, sessionId);

function open(sessionId, cwd) {
  workspaces.set(sessionId, cwd);
  return {};
}

function teller(client, sessionId) {
  const update = (sessionUpdate, fields) =>
    client.notify(methods.client.session.update, { sessionId, update: { sessionUpdate, ...fields } });
  const say = (text) => update("agent_message_chunk", { content: { type: "text", text } });
  return { update, say };
}

async function everything(client, sessionId) {
  const { update, say } = teller(client, sessionId);
  const path = join(workspaces.get(sessionId), "notes.txt");
  await say("Hello, ");
  await say("Wörld 🏛\r\n");
  await update("agent_thought_chunk", { content: { type: "text", text: "thinking" } });
  await update("plan", { entries: [{ content: "read", priority: "high", status: "completed" }] });
  await update("available_commands_update", {
    availableCommands: [{ name: "review", description: "Reviews", input: { hint: "what" } }],
  });
  await update("session_info_update", { title: "A title of its own" });
  await update("usage_update", { used: 10, size: 100 });
  await update("agent_message_chunk", {
    content: { type: "resource_link", name: "notes", uri: "file:///notes.txt" },
  });
  const { content: before } = await client.request(methods.client.fs.readTextFile, { sessionId, path });
  const { content: line } = await client.request(methods.client.fs.readTextFile, {
    sessionId,
    path,
    line: 2,
    limit: 1,
  });
  await say(`line 2: ${line}`);
  await edit(client, sessionId, path, before);
  await command(client, sessionId);
  return { stopReason: "end_turn" };
}

async function edit(client, sessionId, path, oldText) {
  const { update, say } = teller(client, sessionId);
  const newText = oldText.replace("world", "wörld");
  const toolCall = {
    toolCallId: "edit-1",
    title: "Edit notes.txt",
    kind: "edit",
    status: "pending",
    locations: [{ path, line: 1 }],
    rawInput: { path },
    content: [{ type: "diff", path, oldText, newText }],
  };
  await update("tool_call", toolCall);
  const { outcome } = await client.request(methods.client.session.requestPermission, {
    sessionId,
    toolCall: { toolCallId: "edit-1" },
    options: [
      { optionId: "yes", name: "Yes", kind: "allow_once" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ],
  });
  if (outcome.outcome === "selected" && outcome.optionId === "yes") {
    await client.request(methods.client.fs.writeTextFile, { sessionId, path, content: newText });
    await update("tool_call_update", { toolCallId: "edit-1", status: "completed", rawOutput: { written: true } });
  } else {
    await update("tool_call_update", { toolCallId: "edit-1", status: "failed" });
    await say(`permission: ${outcome.outcome} ${outcome.optionId}`);
  }
}

async function command(client, sessionId) {
  const { update, say } = teller(client, sessionId);
  const terminal = await client.createTerminal({
    sessionId,
    command: "sh",
    args: ["-c", 'printf "one\\ntwo $GREETING\\n"; exit 3'],
    env: [{ name: "GREETING", value: "héllo" }],
  });
  await update("tool_call", {
    toolCallId: "run-1",
    title: "sh",
    kind: "execute",
    status: "in_progress",
    content: [{ type: "terminal", terminalId: terminal.id }],
  });
  const { exitCode } = await terminal.waitForExit();
  const { output, truncated } = await terminal.currentOutput();
  await terminal.release();
  await update("tool_call_update", { toolCallId: "run-1", status: "failed" });
  await say(`exit ${exitCode}, truncated ${truncated}: ${output}`);
}

async function wait(client, sessionId) {
  const cancelled = new Promise((resolve) => cancellations.set(sessionId, resolve));
  await teller(client, sessionId).say("waiting");
  await cancelled;
  return { stopReason: "cancelled" };
}

const connection = agent({ name: "typescript-peer" })
  .onRequest(methods.agent.initialize, ({ params }) => {
    if (params.clientInfo?.name !== "portico") throw RequestError.invalidParams(undefined, "who are you?");
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "typescript-peer", version: "1.0.0" },
      agentCapabilities: { sessionCapabilities: { resume: {} } },
    };
  })
  .onRequest(methods.agent.session.new, ({ params }) => {
    const sessionId = `ts-${process.pid}-${workspaces.size}`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(fileOf(sessionId), "");
    open(sessionId, params.cwd);
    return { sessionId };
  })
  .onRequest(methods.agent.session.resume, ({ params }) => {
    if (!existsSync(fileOf(params.sessionId))) throw RequestError.resourceNotFound(params.sessionId);
    return open(params.sessionId, params.cwd);
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const text = prompt.map((block) => block.text ?? "").join("");
    if (text === "everything") return everything(client, sessionId);
    if (text === "wait") return wait(client, sessionId);
    await teller(client, sessionId).say(text);
    return { stopReason: "end_turn" };
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => cancellations.get(params.sessionId)?.())
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

await connection.closed;
