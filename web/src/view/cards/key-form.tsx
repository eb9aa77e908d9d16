// Form that stores a key for an agent.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { Disclosure } from "./disclosure";
import { likelyVariable } from "./error-guide";
import { CodeField, KeyField } from "./key-field";
import {
  checkAndStoreKey,
  deleteKey,
  deleteRefusedKey,
  storageDescription,
  type KeyOutcome,
} from "./key-storage";
import { Form, FormProblem } from "../form";

interface KeyFormProps {
  readonly agent: string;
  /** The suggestion of the error; it may name the variable. */
  readonly hint: string;
  readonly gateway: Gateway;
}

/** The form of a card about a key that was refused or is missing. A stored one that is refused is deleted. */
export function KeyDisclosure(props: KeyFormProps) {
  const { agent, hint, gateway } = props;
  const deleted = useSignal("");
  const variable = likelyVariable(agent, hint);
  useEffect(() => {
    if (variable !== "") void deleteRefusedKey(gateway, variable).then((words) => (deleted.value = words));
  }, [gateway, variable, deleted]);
  return (
    <>
      {deleted.value !== "" && (
        <p class="p-card-about" role="status">
          {deleted.value}
        </p>
      )}
      <Disclosure label="Connect with a key">
        <KeyForm {...props} />
      </Disclosure>
    </>
  );
}

export function KeyForm({ agent, hint, gateway }: KeyFormProps) {
  const name = useSignal(likelyVariable(agent, hint));
  const secret = useSignal("");
  const saving = useSignal(false);
  const problem = useSignal("");
  const done = useSignal("");
  /** The key that the editor stores now and can remove. */
  const kept = useSignal("");

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
    const isKept = await attempt(() => checkAndStoreKey(gateway, variable, secret.peek().trim()));
    if (isKept && gateway.keys !== undefined) kept.value = variable;
  };
  const forget = async (): Promise<void> => {
    if (await attempt(() => deleteKey(gateway, kept.peek()))) kept.value = "";
  };
  return (
    <Form
      onSubmit={() => {
        if (!saving.peek()) void save();
      }}
    >
      <CodeField label={`Environment variable for ${agent === "" ? "the agent" : agent}`} value={name} />
      <KeyField value={secret} about={storageDescription(gateway)} />
      <FormProblem text={problem.value} />
      {done.value !== "" && <p role="status">{done.value}</p>}
      <div class="p-card-actions">
        <button type="submit" class="p-button p-button-main" disabled={saving.value}>
          Save key
        </button>
        {kept.value !== "" && (
          <button type="button" class="p-button" disabled={saving.value} onClick={() => void forget()}>
            Delete {kept.value}
          </button>
        )}
      </div>
    </Form>
  );
}

export function keyProblem(name: string, secret: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name.trim()))
    return "Enter the name of the variable, for example OPENAI_API_KEY.";
  return secret.trim() === "" ? "Enter the key." : "";
}
