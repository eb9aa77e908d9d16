// Model keys: stored by VS Code, passed to the server as environment or while it runs, and never shown.

import type { SecretStorage } from "vscode";
import { errorText, type ServerConnection } from "./server/connection";

const STORE = "portico.keys";
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** By the variables that agents find them in. */
export type ModelKeys = Readonly<Record<string, string>>;

export type SecretStore = Pick<SecretStorage, "get" | "store">;

let last: Promise<unknown> = Promise.resolve();

/** One after the other: a key that is being forgotten must not be given to the server once more. */
function inOrder(act: () => Promise<void>): Promise<void> {
  const done = last.then(act);
  last = done.catch(() => undefined);
  return done;
}

export function isVariable(name: string): boolean {
  return NAME.test(name);
}

export function storeKey(
  connection: ServerConnection,
  secrets: SecretStore,
  name: string,
  value: string,
): Promise<void> {
  return inOrder(async () => {
    await connection.call((client) => client.setSecret({ name, value }));
    await writeKeys(secrets, { ...(await readKeys(secrets)), [name]: value });
  });
}

export function deleteKey(connection: ServerConnection, secrets: SecretStore, name: string): Promise<void> {
  return inOrder(async () => {
    await connection.call((client) => client.setSecret({ name, value: "" }));
    const kept = Object.entries(await readKeys(secrets));
    await writeKeys(secrets, Object.fromEntries(kept.filter(([other]) => other !== name)));
  });
}

/** Stores a key from the page, or removes it if it is empty. Returns the reason on failure, else "". */
export async function handleKey(
  connection: ServerConnection,
  secrets: SecretStore,
  given: unknown,
): Promise<string> {
  if (!isKey(given)) return "Invalid key.";
  const { name, value } = given;
  try {
    await (value === "" ? deleteKey(connection, secrets, name) : storeKey(connection, secrets, name, value));
    return "";
  } catch (reason) {
    // An error message may contain the key.
    return value === "" ? errorText(reason) : errorText(reason).replaceAll(value, "…");
  }
}

/** Gives a server that has just been found what is kept here. */
export function sendKeys(connection: ServerConnection, secrets: SecretStore): Promise<void> {
  return inOrder(async () => {
    for (const [name, value] of Object.entries(await readKeys(secrets)))
      await connection.call((client) => client.setSecret({ name, value }));
  });
}

export async function readKeys(secrets: SecretStore): Promise<ModelKeys> {
  try {
    const kept: unknown = JSON.parse((await secrets.get(STORE)) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as ModelKeys) : {};
  } catch {
    return {};
  }
}

async function writeKeys(secrets: SecretStore, keys: ModelKeys): Promise<void> {
  await secrets.store(STORE, JSON.stringify(keys));
}

function isKey(given: unknown): given is { name: string; value: string } {
  if (typeof given !== "object" || given === null || !("name" in given) || !("value" in given)) return false;
  return typeof given.name === "string" && isVariable(given.name) && typeof given.value === "string";
}
