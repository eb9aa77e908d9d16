// A program made with Connect for Node. It calls AgentService and prints what it heard as one JSON object.
//
// Usage: node service_client.js PROTOCOL URL WHAT [PROMPT]
//
// PROTOCOL is connect, grpc or grpc-web; the token is in TOKEN. WHAT is one of
//   info   who the server is
//   many   the same, asked 150 times at once: how many answers came
//   watch  the first word about sessions, and how the stream ends when the server stops
//   turn   a turn of PROMPT with the agent "scripted"; permissions are granted once
// A failure is {"error": {"code", "message"}}.

import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { AgentService } from "../../web/src/generated/portico/v1/agent_pb";
import { PermissionOptionKind, PermissionScope } from "../../web/src/generated/portico/v1/events_pb";

const [protocol, baseUrl, what, prompt = ""] = process.argv.slice(2);
const token = process.env.TOKEN;

const signed: Interceptor = (next) => (request) => {
  if (token) request.header.set("authorization", `Bearer ${token}`);
  return next(request);
};
const options = { baseUrl, interceptors: [signed] };
const transports = {
  connect: () => createConnectTransport({ ...options, httpVersion: "1.1" }),
  "connect-h2": () => createConnectTransport({ ...options, httpVersion: "2" }),
  grpc: () => createGrpcTransport(options),
  "grpc-web": () => createGrpcWebTransport({ ...options, httpVersion: "1.1" }),
};
const service = createClient(AgentService, transports[protocol as keyof typeof transports]());

async function turn() {
  const { session } = await service.startSession({ agent: "scripted" });
  const sessionId = session!.summary!.sessionId;
  const kinds: string[] = [];
  let answer = "";
  for await (const { update } of service.invoke({ sessionId, text: prompt })) {
    if (update.case !== "event") continue;
    const { payload } = update.value;
    kinds.push(payload.case!);
    if (payload.case === "textDelta") answer += payload.value.text;
    if (payload.case === "permissionRequested") {
      const allow = payload.value.options.find(({ kind }) => kind === PermissionOptionKind.ALLOW_ONCE)!;
      const { requestId } = payload.value;
      const decision = { requestId, optionId: allow.optionId, scope: PermissionScope.ONCE };
      const event = { case: "permissionDecisions" as const, value: { decisions: [decision] } };
      await service.submitClientEvent({ sessionId, event });
    }
  }
  return { kinds, answer };
}

async function many() {
  const asked = Array.from({ length: 150 }, () => service.getServerInfo({}));
  return { answers: (await Promise.all(asked)).length };
}

async function watch() {
  let heard = 0;
  for await (const _ of service.watchSessions({})) {
    heard += 1;
    if (heard === 1) process.stderr.write("watching\n");
  }
  return { heard, ended: true };
}

const acts = { turn, many, watch, info: async () => ({ version: (await service.getServerInfo({})).version }) };

try {
  console.log(JSON.stringify(await acts[what as keyof typeof acts]()));
} catch (failure) {
  const { code, rawMessage } = ConnectError.from(failure);
  console.log(JSON.stringify({ error: { code: Code[code], message: rawMessage } }));
}
process.exit(0);
