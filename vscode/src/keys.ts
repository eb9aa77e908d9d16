// Keys of models: kept by VS Code, given to the server as its environment or while it runs, and shown to nobody.

import type { SecretStorage } from "vscode";
import { wordsOf, type Link } from "./server/link";

const STORE = "portico.keys";
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** By the variables that agents find them in. */
export type Keys = Readonly<Record<string, string>>;

export type Secrets = Pick<SecretStorage, "get" | "store">;

let last: Promise<unknown> = Promise.resolve();

/** One after the other: a key that is being forgotten must not be given to the server once more. */
function inTurn(act: () => Promise<void>): Promise<void> {
  const done = last.then(act);
  last = done.catch(() => undefined);
  return done;
}

export function isVariable(name: string): boolean {
  return NAME.test(name);
}

export function keepKey(link: Link, secrets: Secrets, name: string, value: string): Promise<void> {
  return inTurn(async () => {
    await link.call((client) => client.setSecret({ name, value }));
    await keep(secrets, { ...(await keysIn(secrets)), [name]: value });
  });
}

export function forgetKey(link: Link, secrets: Secrets, name: string): Promise<void> {
  return inTurn(async () => {
    await link.call((client) => client.setSecret({ name, value: "" }));
    const kept = Object.entries(await keysIn(secrets));
    await keep(secrets, Object.fromEntries(kept.filter(([other]) => other !== name)));
  });
}

/** What the page hands over: kept, or forgotten if it is empty. Why not; empty if it was. */
export async function takeKey(link: Link, secrets: Secrets, given: unknown): Promise<string> {
  if (!isKey(given)) return "The page sent a key that makes no sense.";
  const { name, value } = given;
  try {
    await (value === "" ? forgetKey(link, secrets, name) : keepKey(link, secrets, name, value));
    return "";
  } catch (reason) {
    // Whoever refuses a key may repeat it.
    return value === "" ? wordsOf(reason) : wordsOf(reason).replaceAll(value, "…");
  }
}

/** Gives a server that has just been found what is kept here. */
export function giveKeys(link: Link, secrets: Secrets): Promise<void> {
  return inTurn(async () => {
    for (const [name, value] of Object.entries(await keysIn(secrets)))
      await link.call((client) => client.setSecret({ name, value }));
  });
}

export async function keysIn(secrets: Secrets): Promise<Keys> {
  try {
    const kept: unknown = JSON.parse((await secrets.get(STORE)) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Keys) : {};
  } catch {
    return {};
  }
}

async function keep(secrets: Secrets, keys: Keys): Promise<void> {
  await secrets.store(STORE, JSON.stringify(keys));
}

function isKey(given: unknown): given is { name: string; value: string } {
  if (typeof given !== "object" || given === null || !("name" in given) || !("value" in given)) return false;
  return typeof given.name === "string" && isVariable(given.name) && typeof given.value === "string";
}
