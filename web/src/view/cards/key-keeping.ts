// Who keeps a key that the person typed: the editor around the page, or the server. And what is said of it.

import type { Gateway } from "../../gateway/types";
import { SecretKeeper } from "../../generated/portico/v1/agent_pb";
import { failureOf } from "../../model/failures";

const FROM_NOW_ON = "Agents that start from now on have it.";

/** What came of it: either has words, never both. */
export interface Outcome {
  readonly done: string;
  readonly problem: string;
}

export function aboutKeeping({ keys }: Gateway): string {
  return keys === undefined
    ? "It is kept in the keyring of this machine if there is one, reaches agents as environment only, and is never shown again."
    : "VS Code keeps it. It reaches agents as environment only, and is never shown again.";
}

export async function keepKey({ client, keys }: Gateway, name: string, value: string): Promise<Outcome> {
  if (keys !== undefined) return outcome(await keys.set(name, value), `It is kept. ${FROM_NOW_ON}`);
  try {
    const { keeper } = await client.setSecret({ name, value });
    return outcome("", keptWords(keeper));
  } catch (reason) {
    const { message, suggestion } = failureOf(reason);
    return outcome(`${message} ${suggestion}`.trim(), "");
  }
}

/** Only an editor forgets here; what the machine keeps is taken away where it is kept. */
export async function forgetKey({ keys }: Gateway, name: string): Promise<Outcome> {
  return outcome((await keys?.set(name, "")) ?? "", `${name} is forgotten.`);
}

function outcome(problem: string, done: string): Outcome {
  return problem === "" ? { done, problem } : { done: "", problem };
}

function keptWords(keeper: SecretKeeper): string {
  return keeper === SecretKeeper.KEYRING
    ? `Kept in the keyring of this machine. ${FROM_NOW_ON}`
    : `This machine has no keyring: kept until Portico's server ends. ${FROM_NOW_ON}`;
}
