// Google's gRPC-Web client in its text mode: one call, one that fails, and one stream, told as JSON lines.
// Arguments: address of the server, token.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
globalThis.XMLHttpRequest = require("xhr2");
const { GrpcWebClientBase, MethodDescriptor, MethodType } = require("grpc-web");

const [address, token] = process.argv.slice(2);
const client = new GrpcWebClientBase({ format: "text" });
const metadata = { authorization: `Bearer ${token}` };

class Bytes {}

function method(name, type) {
  const whole = (bytes) => Buffer.from(bytes).toString("base64");
  return new MethodDescriptor(`/portico.v1.AgentService/${name}`, type, Bytes, Bytes, () => new Uint8Array(), whole);
}

function tell(what) {
  console.log(JSON.stringify(what));
}

function call(name) {
  const described = method(name, MethodType.UNARY);
  return new Promise((resolve) => {
    client.rpcCall(address + described.name, new Bytes(), metadata, described, (error, message) => {
      tell(error ? { call: name, code: error.code } : { call: name, message });
      resolve();
    });
  });
}

function watch(name) {
  const described = method(name, MethodType.SERVER_STREAMING);
  return new Promise((resolve) => {
    const stream = client.serverStreaming(address + described.name, new Bytes(), metadata, described);
    stream.on("data", (message) => tell({ stream: name, message }));
    stream.on("status", (status) => tell({ stream: name, status: status.code }));
    stream.on("error", (error) => tell({ stream: name, error: error.message }));
    stream.on("end", resolve);
  });
}

await call("GetServerInfo");
await call("StartSession");
await watch("WatchSessions");
