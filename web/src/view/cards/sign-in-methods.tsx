// Sign-in methods of an agent.

import { useSignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import { failureOf } from "../../model/call-failure";
import type { SessionModel } from "../../model/types";
import { CopyButton } from "./copy-button";
import { commandIn } from "./error-guide";

interface SignInProps {
  readonly methods: readonly string[];
  readonly session: SessionModel;
  readonly gateway: Gateway;
}

/** The state of a login; some methods are a program that the person has to run. */
interface SignInOutcome {
  readonly words: string;
  readonly bad: boolean;
}

export function SignInMethods({ methods, session, gateway }: SignInProps) {
  const under = useSignal<string | undefined>(undefined);
  const told = useSignal<SignInOutcome | undefined>(undefined);
  if (methods.length === 0) return null;

  const signIn = async (method: string): Promise<void> => {
    under.value = method;
    told.value = undefined;
    try {
      // The only way there is needs no name.
      const methodId = methods.length === 1 ? "" : method;
      await gateway.client.authenticateAgent({ sessionId: session.id, methodId });
      told.value = { words: "Signed in.", bad: false };
      await session.retry();
    } catch (reason) {
      const { message, suggestion } = failureOf(reason);
      told.value = { words: `${message} ${suggestion}`.trim(), bad: true };
    } finally {
      under.value = undefined;
    }
  };
  const command = told.value?.bad === true ? commandIn(told.value.words) : undefined;
  return (
    <>
      <div class="p-card-actions">
        {methods.map((method, place) => (
          <button
            key={method}
            type="button"
            class={place === 0 ? "p-button p-button-main" : "p-button"}
            disabled={under.value !== undefined}
            onClick={() => void signIn(method)}
          >
            {under.value === method && <i class="codicon codicon-sync p-spinning" aria-hidden="true" />}
            {under.value === method ? `Signing in: ${method}` : method}
          </button>
        ))}
      </div>
      {told.value !== undefined && (
        <p class={told.value.bad ? "p-form-problem" : "p-soft"} role={told.value.bad ? "alert" : "status"}>
          {told.value.words}
        </p>
      )}
      {command !== undefined && <CopyButton label="Copy command" text={() => command} />}
    </>
  );
}
