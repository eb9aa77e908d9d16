// A client made with the official TypeScript SDK. It starts an agent, does the steps it is given, and prints the
// whole conversation: one JSON line {"from": "client" | "agent", "message": …} for each message, in order.
//
// Usage: node acp_client.mjs STEPS PROGRAM ARGUMENTS…
//
// STEPS is a JSON list of {"call": METHOD, "params": …}, or of lists of such steps, which are done side by side.
//   "as"        a name for the session that is made; "$NAME" in later params stands for it
//   "cancelAt"  sends session/cancel when an update of that kind comes for the step's session
//   "answer"    the option to choose in permission requests; without it, the first one that allows once

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [plan, program, ...words] = process.argv.slice(2);
const agent = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
const { fs, session } = methods.client;
const names = new Map();
const steps = new Map();

function recorded(from) {
  return new TransformStream({
    transform(message, controller) {
      console.log(JSON.stringify({ from, message }));
      controller.enqueue(message);
    },
  });
}

function tapped({ readable, writable }) {
  const outgoing = recorded("client");
  outgoing.readable.pipeTo(writable).catch(() => {});
  return { readable: readable.pipeThrough(recorded("agent")), writable: outgoing.writable };
}

const app = client({ name: "typescript-client" })
  .onRequest(session.requestPermission, ({ params: { sessionId, options } }) => {
    const wanted = steps.get(sessionId)?.answer;
    const { optionId } = options.find((one) => (wanted ? one.optionId === wanted : one.kind === "allow_once"));
    return { outcome: { outcome: "selected", optionId } };
  })
  .onRequest(fs.readTextFile, async ({ params }) => ({ content: await readFile(params.path, "utf8") }))
  .onRequest(fs.writeTextFile, ({ params }) => writeFile(params.path, params.content).then(() => ({})))
  .onNotification(session.update, ({ params: { sessionId, update }, agent: peer }) => {
    const step = steps.get(sessionId);
    if (step === undefined || update.sessionUpdate !== step.cancelAt) return;
    steps.set(sessionId, { ...step, cancelAt: undefined });
    peer.notify(methods.agent.session.cancel, { sessionId });
  });

async function run(context, step) {
  const params = JSON.parse(
    JSON.stringify(step.params ?? {}).replaceAll(/\$(\w+)/g, (word, name) => names.get(name) ?? word),
  );
  if (params.sessionId) steps.set(params.sessionId, step);
  try {
    const result = await context.request(step.call, params);
    if (step.as) names.set(step.as, result.sessionId);
  } catch (error) {
    if (error.code === undefined) throw error;
  }
}

const stream = tapped(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));
await app.connectWith(stream, async (context) => {
  for (const next of JSON.parse(plan)) await Promise.all([next].flat().map((step) => run(context, step)));
});
agent.stdin.end();
if (agent.exitCode === null) await once(agent, "exit");
process.exitCode = agent.exitCode;
