import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AgentService } from "../../web/src/generated/portico/v1/agent_pb";
import { deleteKey, sendKeys, storeKey, readKeys, handleKey, type SecretStore } from "../src/model-keys";
import { ServerConnection } from "../src/server/connection";
import { Server } from "../src/server/server";

const KEY = "sk-nobody-may-see-this";

/** What VS Code keeps, in memory. */
class Kept implements SecretStore {
  readonly #values = new Map<string, string>();

  get(name: string): Thenable<string | undefined> {
    return Promise.resolve(this.#values.get(name));
  }

  store(name: string, value: string): Thenable<void> {
    this.#values.set(name, value);
    return Promise.resolve();
  }
}

let http: HttpServer;
let connection: ServerConnection;
let secrets: Kept;
let told: string[];
let refuse: ((value: string) => string) | undefined;

beforeEach(async () => {
  told = [];
  refuse = undefined;
  secrets = new Kept();
  http = createServer(
    connectNodeAdapter({
      routes: (router) =>
        router.service(AgentService, {
          setSecret: ({ name, value }) => {
            if (refuse !== undefined) throw new ConnectError(refuse(value), Code.InvalidArgument);
            told.push(`${name}=${value}`);
            return {};
          },
        }),
    }),
  );
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  const server = new Server(() => Promise.reject(new Error("never started here")));
  const { port } = http.address() as AddressInfo;
  vi.spyOn(server, "address").mockResolvedValue({ port, token: "t", version: "0.1.0" });
  connection = new ServerConnection(server);
});

afterEach(() => {
  http.closeAllConnections();
  http.close();
});

test("a key of the page is kept as one of the command is: the server has it, and the next one gets it", async () => {
  await storeKey(connection, secrets, "A_KEY", "one");
  expect(await handleKey(connection, secrets, { name: "B_KEY", value: KEY })).toBe("");
  expect(await readKeys(secrets)).toEqual({ A_KEY: "one", B_KEY: KEY });
  expect(told).toEqual(["A_KEY=one", `B_KEY=${KEY}`]);
  told = [];
  await sendKeys(connection, secrets);
  expect(told).toEqual(["A_KEY=one", `B_KEY=${KEY}`]);
});

test("a key is forgotten here and by the server, and the others stay", async () => {
  for (const name of ["A_KEY", "B_KEY", "C_KEY"]) await storeKey(connection, secrets, name, KEY);
  told = [];
  expect(await handleKey(connection, secrets, { name: "A_KEY", value: "" })).toBe("");
  await deleteKey(connection, secrets, "C_KEY");
  expect(Object.keys(await readKeys(secrets))).toEqual(["B_KEY"]);
  expect(told).toEqual(["A_KEY=", "C_KEY="]);
});

test("a key that the server refuses is not kept, and the page is told why, without the key", async () => {
  refuse = (value) => `Nobody wants ${value}.`;
  expect(await handleKey(connection, secrets, { name: "A_KEY", value: KEY })).toBe("Nobody wants ….");
  expect(await readKeys(secrets)).toEqual({});
});

test.each([
  ["nothing", null],
  ["no name", { value: KEY }],
  ["a name that is no variable", { name: "A KEY", value: KEY }],
  ["a value that is no text", { name: "A_KEY", value: [KEY] }],
])("%s is no key, and reaches nobody", async (_, given) => {
  const problem = await handleKey(connection, secrets, given);
  expect(problem).not.toBe("");
  expect(problem).not.toContain(KEY);
  expect([told, await readKeys(secrets)]).toEqual([[], {}]);
});

test("a key that is forgotten while a new server gets the kept ones stays forgotten", async () => {
  await storeKey(connection, secrets, "A_KEY", KEY);
  await storeKey(connection, secrets, "B_KEY", KEY);
  told.length = 0;
  const given = sendKeys(connection, secrets);
  await deleteKey(connection, secrets, "B_KEY");
  await given;
  expect(told.at(-1)).toBe("B_KEY=");
  expect(await readKeys(secrets)).toEqual({ A_KEY: KEY });
});
