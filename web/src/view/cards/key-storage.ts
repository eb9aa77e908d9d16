// Storage of keys: the editor around the page, or the server.

import type { Gateway } from "../../gateway/gateway";
import { SecretKeeper } from "../../generated/portico/v1/agent_pb";
import { failureOf } from "../../model/call-failure";

const FROM_NOW_ON = "Agents that start from now on can use it.";

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
    const { message, suggestion } = failureOf(reason);
    return outcome(`${message} ${suggestion}`.trim(), "");
  }
}

function outcome(problem: string, done: string): KeyOutcome {
  return problem === "" ? { done, problem } : { done: "", problem };
}

function storedText(keeper: SecretKeeper): string {
  return keeper === SecretKeeper.KEYRING
    ? `Saved in the keyring of this machine. ${FROM_NOW_ON}`
    : `This machine has no keyring: kept until the server stops. ${FROM_NOW_ON}`;
}
