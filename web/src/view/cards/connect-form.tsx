// Takes a key for an agent. It goes to the server's keeper of secrets and is never shown again.

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { Gateway } from "../../gateway/types";
import { SecretKeeper } from "../../generated/portico/v1/agent_pb";
import { failureOf } from "../../model/failures";
import { Disclosure } from "./disclosure";
import { likelyVariable } from "./error-plan";

interface ConnectProps {
  readonly agent: string;
  /** What was suggested; it may name the variable. */
  readonly hint: string;
  readonly gateway: Gateway;
}

export function ConnectForm({ agent, hint, gateway }: ConnectProps) {
  const name = useSignal(likelyVariable(agent, hint));
  const secret = useSignal("");
  const saving = useSignal(false);
  const problem = useSignal("");
  const kept = useSignal<SecretKeeper | undefined>(undefined);
  const id = useId();

  const save = async (): Promise<void> => {
    problem.value = problemWith(name.peek(), secret.peek());
    if (problem.peek() !== "") return;
    saving.value = true;
    try {
      const answer = await gateway.client.setSecret({
        name: name.peek().trim(),
        value: secret.peek().trim(),
      });
      kept.value = answer.keeper;
    } catch (reason) {
      const { message, suggestion } = failureOf(reason);
      problem.value = `${message} ${suggestion}`.trim();
    } finally {
      secret.value = "";
      saving.value = false;
    }
  };
  return (
    <Disclosure label="Connect with a key">
      <form
        class="p-form"
        noValidate
        autocomplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          if (!saving.peek()) void save();
        }}
      >
        <div class="p-form-field">
          <label for={`${id}-name`}>Variable that {agent === "" ? "the agent" : agent} reads it from</label>
          <input
            id={`${id}-name`}
            class="p-field p-form-input p-mono"
            type="text"
            spellcheck={false}
            autocapitalize="off"
            autocomplete="off"
            value={name.value}
            onInput={(event) => (name.value = event.currentTarget.value)}
          />
        </div>
        <div class="p-form-field">
          <label for={`${id}-key`}>Key</label>
          <input
            id={`${id}-key`}
            class="p-field p-form-input"
            type="password"
            autocomplete="new-password"
            aria-describedby={`${id}-about`}
            value={secret.value}
            onInput={(event) => (secret.value = event.currentTarget.value)}
          />
          <p id={`${id}-about`} class="p-form-about p-soft">
            It is kept in the keyring of this machine if there is one, reaches agents as environment only, and
            is never shown again.
          </p>
        </div>
        {problem.value !== "" && (
          <p class="p-form-problem" role="alert">
            {problem.value}
          </p>
        )}
        {kept.value !== undefined && <p role="status">{keptWords(kept.value)}</p>}
        <div class="p-card-actions">
          <button type="submit" class="p-button p-button-main" disabled={saving.value}>
            Keep the key
          </button>
        </div>
      </form>
    </Disclosure>
  );
}

export function problemWith(name: string, secret: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name.trim())) return "Name the variable, for example OPENAI_API_KEY.";
  return secret.trim() === "" ? "Paste the key." : "";
}

function keptWords(keeper: SecretKeeper): string {
  return keeper === SecretKeeper.KEYRING
    ? "Kept in the keyring of this machine. Agents that start from now on have it."
    : "This machine has no keyring: kept until Portico's server ends. Agents that start from now on have it.";
}
