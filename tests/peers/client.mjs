// A client made with the official TypeScript SDK. It starts an agent and does the steps it is given.
//
// Usage: node client.mjs STEPS PROGRAM ARGUMENTS…
//
// STEPS is a JSON list of {"call": METHOD, "params": …}; "$session" in params stands for the session last made.
// "cancelAt" sends session/cancel when an update of that kind comes. Permission requests are answered with the
// first option of the kind in "answer" ("allow_once" if there is none). For each step one JSON line is printed:
// {"result" | "error", "updates", "asked"}; "asked" has the requests of the agent that came meanwhile.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [plan, program, ...words] = process.argv.slice(2);
const agent = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
const terminals = new Map();
const { fs, session, terminal } = methods.client;

let sessionId = "";
let step = {};
let seen = {};

function startTerminal({ command, args = [], env = [], cwd }) {
  const extra = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const child = spawn(command, args, { cwd, env: { ...process.env, ...extra }, detached: true });
  const started = { child, output: "", exitStatus: null, ended: null };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (started.output += text));
  }
  started.ended = once(child, "close").then(([exitCode, signal]) => {
    started.exitStatus = { exitCode, signal };
    return started.exitStatus;
  });
  const terminalId = `terminal-${terminals.size + 1}`;
  terminals.set(terminalId, started);
  return { terminalId };
}

function killTerminal({ terminalId }) {
  const { child, exitStatus } = terminals.get(terminalId);
  if (exitStatus === null) process.kill(-child.pid, "SIGKILL");
  return {};
}

const noting = (method, handle) => [
  method,
  async ({ params }) => {
    seen.asked.push({ method, params });
    return handle(params);
  },
];

const app = client({ name: "typescript-client" })
  .onRequest(
    ...noting(session.requestPermission, ({ options }) => {
      const { optionId } = options.find(({ kind }) => kind === (step.answer ?? "allow_once"));
      return { outcome: { outcome: "selected", optionId } };
    }),
  )
  .onRequest(
    ...noting(fs.readTextFile, async ({ path, line, limit }) => {
      const text = await readFile(path, "utf8");
      if (line == null && limit == null) return { content: text };
      const first = (line ?? 1) - 1;
      return { content: text.split("\n").slice(first, limit == null ? undefined : first + limit).join("\n") };
    }),
  )
  .onRequest(...noting(fs.writeTextFile, ({ path, content }) => writeFile(path, content).then(() => ({}))))
  .onRequest(...noting(terminal.create, startTerminal))
  .onRequest(
    ...noting(terminal.output, ({ terminalId }) => {
      const { output, exitStatus } = terminals.get(terminalId);
      return { output, truncated: false, exitStatus };
    }),
  )
  .onRequest(...noting(terminal.waitForExit, ({ terminalId }) => terminals.get(terminalId).ended))
  .onRequest(...noting(terminal.kill, killTerminal))
  .onRequest(...noting(terminal.release, killTerminal))
  .onNotification(session.update, ({ params, agent: peer }) => {
    seen.updates.push(params);
    if (params.update.sessionUpdate === step.cancelAt) {
      step = { ...step, cancelAt: undefined };
      peer.notify(methods.agent.session.cancel, { sessionId: params.sessionId });
    }
  });

async function run(context, next) {
  step = next;
  seen = { updates: [], asked: [] };
  const params = JSON.parse(JSON.stringify(step.params ?? {}).replaceAll("$session", sessionId));
  try {
    seen.result = await context.request(step.call, params);
    sessionId = seen.result?.sessionId ?? sessionId;
  } catch (error) {
    seen.error = { code: error.code, message: error.message };
  }
  // What the agent sends right behind its answer belongs to this step: a request behind it comes last.
  await context.request(methods.agent.session.list, {}).catch(() => {});
  console.log(JSON.stringify(seen));
}

const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await app.connectWith(stream, async (context) => {
  for (const next of JSON.parse(plan)) await run(context, next);
});
agent.stdin.end();
if (agent.exitCode === null) await once(agent, "exit");
process.exitCode = agent.exitCode;
