// Storage of keys: the editor around the page, or the server.

import type { Gateway } from "../../gateway/gateway";
import { KeyVerdict, SecretKeeper } from "../../generated/portico/v1/agent_pb";
import { failureOf } from "../../model/call-failure";

const FROM_NOW_ON = "Agents started from now on can use it.";

/** The result: a message or an error, never both. */
export interface KeyOutcome {
  readonly done: string;
  readonly problem: string;
}

export function storageDescription({ keys }: Gateway): string {
  return keys === undefined
    ? "Stored in the keyring of this machine if there is one, passed to agents as an environment variable, and never shown again."
    : "Stored by VS Code, passed to agents as an environment variable, and never shown again.";
}

/** Asks the provider first: a key that it refuses is not stored. */
export async function checkAndStoreKey(gateway: Gateway, name: string, value: string): Promise<KeyOutcome> {
  const { verdict, detail, problem } = await checkKey(gateway, name, value);
  if (problem !== "") return outcome(problem, "");
  if (verdict === KeyVerdict.REFUSED) return outcome(`${detail} It was not saved.`, "");
  const stored = await storeKey(gateway, name, value);
  if (stored.problem !== "" || verdict === KeyVerdict.ACCEPTED) return stored;
  return outcome("", `${stored.done} It could not be checked: ${detail}`);
}

/** Deletes the stored key if its provider refuses it. Returns what was done, "" if nothing. */
export async function deleteRefusedKey(gateway: Gateway, name: string): Promise<string> {
  const { verdict } = await checkKey(gateway, name, "");
  if (verdict !== KeyVerdict.REFUSED) return "";
  const { problem } = await deleteKey(gateway, name);
  return problem === ""
    ? `The provider no longer accepts the stored ${name}, so it has been deleted. Enter a new key.`
    : problem;
}

interface CheckedKey {
  readonly verdict: KeyVerdict;
  readonly detail: string;
  readonly problem: string;
}

/** The provider's answer about a key, or about the stored one if it is empty. */
async function checkKey(
  { client, workspace = "" }: Gateway,
  keyVariable: string,
  key: string,
): Promise<CheckedKey> {
  try {
    return { ...(await client.checkProvider({ workspace, keyVariable, key })), problem: "" };
  } catch (reason) {
    return { verdict: KeyVerdict.UNKNOWN, detail: "", problem: problemText(reason) };
  }
}

export async function storeKey({ client, keys }: Gateway, name: string, value: string): Promise<KeyOutcome> {
  if (keys !== undefined) return outcome(await keys.set(name, value), `Key saved. ${FROM_NOW_ON}`);
  return await attempted(async () => storedText((await client.setSecret({ name, value })).keeper));
}

export async function deleteKey({ client, keys }: Gateway, name: string): Promise<KeyOutcome> {
  const words = `${name} deleted.`;
  if (keys !== undefined) return outcome(await keys.set(name, ""), words);
  return await attempted(async () => {
    await client.setSecret({ name, value: "" });
    return words;
  });
}

async function attempted(act: () => Promise<string>): Promise<KeyOutcome> {
  try {
    return outcome("", await act());
  } catch (reason) {
    return outcome(problemText(reason), "");
  }
}

function problemText(reason: unknown): string {
  const { message, suggestion } = failureOf(reason);
  return `${message} ${suggestion}`.trim();
}

function outcome(problem: string, done: string): KeyOutcome {
  return problem === "" ? { done, problem } : { done: "", problem };
}

function storedText(keeper: SecretKeeper): string {
  return keeper === SecretKeeper.KEYRING
    ? `Saved in the keyring of this machine. ${FROM_NOW_ON}`
    : `This machine has no keyring: kept until the server stops. ${FROM_NOW_ON}`;
}
