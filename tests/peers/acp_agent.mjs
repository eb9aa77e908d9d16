// An agent made with the official TypeScript SDK, to stand at the end of a chain.
// What it does depends on the first text block of the prompt; the other blocks are said back.
//
//   tour             streams text and a thought, reads notes.txt, asks, writes it, and says what it was told
//   edit NAME        asks to edit NAME, and says which option was chosen
//   stranger         asks for a permission in a session that was never opened, and says what came of it
//   count N WORD     says WORD with the numbers below N, one update each
//   wait             says a word and waits to be cancelled
//   hang             says a word and never ends
//   crash            says its last words on standard error and ends with code 3
//   anything else    is said back
//
// Usage: node acp_agent.mjs FOLDER        conversations are kept in FOLDER, one file each, for session/load

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";

const folder = process.argv[2];
const sessions = new Map();
const options = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

const fileOf = (sessionId) => join(folder, sessionId);

function teller(client, sessionId) {
  const update = (sessionUpdate, fields) =>
    client.notify(methods.client.session.update, { sessionId, update: { sessionUpdate, ...fields } });
  const say = (text) => update("agent_message_chunk", { content: { type: "text", text } });
  return { update, say };
}

function ask(client, sessionId, toolCall) {
  return client.request(methods.client.session.requestPermission, { sessionId, toolCall, options });
}

async function edit(client, sessionId, name, newText) {
  const { update, say } = teller(client, sessionId);
  const path = join(sessions.get(sessionId).cwd, name);
  const { content: oldText } = await client.request(methods.client.fs.readTextFile, { sessionId, path });
  const toolCallId = `edit-${++sessions.get(sessionId).edits}`;
  await update("tool_call", {
    toolCallId,
    title: `Edit ${basename(path)}`,
    kind: "edit",
    status: "pending",
    locations: [{ path, line: 1 }],
    content: [{ type: "diff", path, oldText, newText }],
  });
  const { outcome } = await ask(client, sessionId, { toolCallId });
  if (outcome.optionId === "yes") {
    await client.request(methods.client.fs.writeTextFile, { sessionId, path, content: newText });
  }
  const status = outcome.optionId === "yes" ? "completed" : "failed";
  await update("tool_call_update", { toolCallId, status });
  await say(`${outcome.outcome} ${outcome.optionId}`);
}

async function tour(client, sessionId, told) {
  const { update, say } = teller(client, sessionId);
  for (const word of ["Grüße", ", ", "🏛"]) await say(word);
  await update("agent_thought_chunk", { content: { type: "text", text: "hm" } });
  await update("plan", { entries: [{ content: "edit", priority: "high", status: "in_progress" }] });
  await edit(client, sessionId, "notes.txt", "changed ✓\n");
  await say(`told: ${told.join(" ")}`);
}

async function stranger(client, sessionId) {
  const { outcome } = await ask(client, "nobody", { toolCallId: "edit-0", kind: "edit", title: "Edit" });
  await teller(client, sessionId).say(`${outcome.outcome} ${outcome.optionId}`);
}

async function until(client, sessionId, promise) {
  await teller(client, sessionId).say("waiting");
  await promise;
}

async function answer(client, sessionId, [text, ...told]) {
  const { say } = teller(client, sessionId);
  const [command, ...words] = text.split(" ");
  switch (command) {
    case "tour":
      return tour(client, sessionId, told);
    case "edit":
      return edit(client, sessionId, words[0], "changed\n");
    case "stranger":
      return stranger(client, sessionId);
    case "count":
      for (let number = 0; number < Number(words[0]); number++) await say(`${words[1]}${number}`);
      return undefined;
    case "wait":
      await until(client, sessionId, new Promise((resolve) => (sessions.get(sessionId).cancel = resolve)));
      return "cancelled";
    case "hang":
      return until(client, sessionId, new Promise(() => {}));
    case "crash":
      await say("about to");
      process.stderr.write("the tour guide fell off the roof\n", () => process.exit(3));
      return new Promise(() => {});
    default:
      return say([text, ...told].join(" "));
  }
}

const connection = agent({ name: "typescript-agent" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "typescript-agent", version: "1.0.0" },
    agentCapabilities: { loadSession: true },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    const sessionId = `session-${process.pid}-${sessions.size + 1}`;
    sessions.set(sessionId, { cwd: params.cwd, edits: 0 });
    return { sessionId };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    const { sessionId, cwd } = params;
    if (!existsSync(fileOf(sessionId))) throw RequestError.resourceNotFound(sessionId);
    sessions.set(sessionId, { cwd, edits: 0 });
    const text = readFileSync(fileOf(sessionId), "utf8");
    await teller(client, sessionId).update("user_message_chunk", { content: { type: "text", text } });
    return {};
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    mkdirSync(folder, { recursive: true });
    writeFileSync(fileOf(sessionId), prompt[0].text);
    const stopReason = await answer(client, sessionId, prompt.map(({ text }) => text));
    return { stopReason: stopReason ?? "end_turn" };
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId).cancel?.())
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

await connection.closed;
