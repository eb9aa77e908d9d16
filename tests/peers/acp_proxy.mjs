// A proxy for a chain, in plain JSON-RPC. It adds its mark to prompts, as one block more, and to the agent's text.
//
// Usage: node acp_proxy.mjs MARK [DIALECT] [TROUBLE]
//
// DIALECT is how it spells its methods: "proxy" (the default), "_proxy", or "older" for _proxy/successor/request.
// TROUBLE is what it does with a prompt:
//   dies     ends                 twice   passes it on, and answers it twice itself
//   silent   never answers        floods  passes it on, and sends 20 MB of updates
//   breaks   passes it on, and ends at the first word of the answer
// or with the greeting:
//   deaf     never takes it in    mute    passes it on, and never answers

import { createInterface } from "node:readline";

const [mark, dialect = "proxy", trouble = "none"] = process.argv.slice(2);
const [initialize, successorRequest, successorNotification] = {
  proxy: ["proxy/initialize", "proxy/successor", "proxy/successor"],
  _proxy: ["_proxy/initialize", "_proxy/successor", "_proxy/successor"],
  older: ["_proxy/initialize", "_proxy/successor/request", "_proxy/successor/notification"],
}[dialect];
const waiting = new Map();
let lastId = 0;

function send(message) {
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
}

/** Send a request or a notification; what comes back for it goes back to the requester. */
function forward(id, method, params) {
  if (id === undefined) return send({ method, params });
  const ours = `${mark}-${++lastId}`;
  waiting.set(ours, ({ result, error }) => send(error ? { id, error } : { id, result }));
  send({ id: ours, method, params });
}

function toAgent(id, method, params) {
  forward(id, id === undefined ? successorNotification : successorRequest, { method, params });
}

function marked(method, params) {
  const update = params?.update;
  if (method !== "session/update" || update.sessionUpdate !== "agent_message_chunk") return params;
  const content = { ...update.content, text: `${update.content.text}·${mark}` };
  return { ...params, update: { ...update, content } };
}

function prompt(id, params) {
  const { sessionId } = params;
  const text = (words) => ({ type: "text", text: words });
  toAgent(id, "session/prompt", { ...params, prompt: [...params.prompt, text(mark)] });
  if (trouble === "twice") {
    send({ id, result: { stopReason: "refusal" } });
    send({ id, result: { stopReason: "max_tokens" } });
  }
  if (trouble === "floods") {
    const update = { sessionUpdate: "agent_thought_chunk", content: text("x".repeat(1000)) };
    for (let number = 0; number < 20_000; number++) send({ method: "session/update", params: { sessionId, update } });
  }
}

function end() {
  process.stderr.write(`${mark} has lost its pen\n`, () => process.exit(7));
}

function greeted(id, params) {
  if (trouble === "deaf") return process.stderr.write(`${mark} cannot hear\n`);
  if (trouble !== "mute") return toAgent(id, "initialize", params);
  process.stderr.write(`${mark} cannot speak\n`);
  send({ id: "unheard", method: successorRequest, params: { method: "initialize", params } });
}

function fromClient({ id, method, params }) {
  if (method === initialize) return greeted(id, params);
  if (method.endsWith("proxy/initialize")) return send({ id, error: { code: -32601, message: "no such method" } });
  if (method !== "session/prompt") return toAgent(id, method, params);
  if (trouble === "dies") return end();
  if (trouble !== "silent") prompt(id, params);
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  } else if (message.method === "$/cancel_request") {
    return;
  } else if ([successorRequest, successorNotification].includes(message.method)) {
    const { method, params } = message.params;
    if (trouble === "breaks" && method === "session/update") return end();
    forward(message.id, method, marked(method, params));
  } else {
    fromClient(message);
  }
});
