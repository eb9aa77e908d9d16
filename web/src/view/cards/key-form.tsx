// Takes a key for an agent. It goes to whoever keeps keys here and is never shown again.

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { Disclosure } from "./disclosure";
import { likelyVariable } from "./error-guide";
import { KeyField } from "./key-field";
import { storageDescription, deleteKey, storeKey, type KeyOutcome } from "./key-storage";

interface KeyFormProps {
  readonly agent: string;
  /** What was suggested; it may name the variable. */
  readonly hint: string;
  readonly gateway: Gateway;
}

export function KeyDisclosure(props: KeyFormProps) {
  return (
    <Disclosure label="Connect with a key">
      <KeyForm {...props} />
    </Disclosure>
  );
}

export function KeyForm({ agent, hint, gateway }: KeyFormProps) {
  const name = useSignal(likelyVariable(agent, hint));
  const secret = useSignal("");
  const saving = useSignal(false);
  const problem = useSignal("");
  const done = useSignal("");
  /** What the editor keeps now, and could forget. */
  const kept = useSignal("");
  const id = useId();

  const attempt = async (act: () => Promise<KeyOutcome>): Promise<boolean> => {
    saving.value = true;
    try {
      const outcome = await act();
      done.value = outcome.done;
      problem.value = outcome.problem;
      return outcome.problem === "";
    } finally {
      secret.value = "";
      saving.value = false;
    }
  };
  const save = async (): Promise<void> => {
    problem.value = keyProblem(name.peek(), secret.peek());
    if (problem.peek() !== "") return;
    const variable = name.peek().trim();
    const isKept = await attempt(() => storeKey(gateway, variable, secret.peek().trim()));
    if (isKept && gateway.keys !== undefined) kept.value = variable;
  };
  const forget = async (): Promise<void> => {
    if (await attempt(() => deleteKey(gateway, kept.peek()))) kept.value = "";
  };
  return (
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
      <KeyField value={secret} about={storageDescription(gateway)} />
      {problem.value !== "" && (
        <p class="p-form-problem" role="alert">
          {problem.value}
        </p>
      )}
      {done.value !== "" && <p role="status">{done.value}</p>}
      <div class="p-card-actions">
        <button type="submit" class="p-button p-button-main" disabled={saving.value}>
          Keep the key
        </button>
        {kept.value !== "" && (
          <button type="button" class="p-button" disabled={saving.value} onClick={() => void forget()}>
            Forget {kept.value}
          </button>
        )}
      </div>
    </form>
  );
}

export function keyProblem(name: string, secret: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name.trim())) return "Name the variable, for example OPENAI_API_KEY.";
  return secret.trim() === "" ? "Paste the key." : "";
}
