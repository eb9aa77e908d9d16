// A missing agent: how to install it, and other agents to use instead.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { Agent } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import { lastPrompt, type OnNewSession } from "./card";
import { CopyButton } from "./copy-button";
import { commandIn } from "./error-guide";

interface HintProps {
  readonly agent: string;
  readonly hint: string;
  readonly gateway: Gateway;
}

export function InstallHint({ agent, hint, gateway }: HintProps) {
  const agents = useAgents(gateway);
  const told = agents.find(({ name }) => name === agent)?.installHint ?? "";
  const command = commandIn(told) ?? commandIn(hint);
  if (command === undefined) return told === "" || told === hint ? null : <p class="p-card-about">{told}</p>;
  return (
    <div class="p-install">
      <pre class="p-mono p-details-code">{command}</pre>
      <CopyButton label="Copy" text={() => command} />
    </div>
  );
}

interface ChoiceProps {
  readonly agent: string;
  readonly gateway: Gateway;
  readonly session: SessionModel;
  readonly onNewSession: OnNewSession;
}

/** The same prompt, for an agent that is installed. */
export function AgentChoice({ agent, gateway, session, onNewSession }: ChoiceProps) {
  const others = useAgents(gateway).filter(({ name, installed }) => installed && name !== agent);
  if (others.length === 0) return null;
  return (
    <div class="p-card-actions">
      <span class="p-soft">Continue with</span>
      {others.map(({ name, title }) => (
        <button
          key={name}
          type="button"
          class="p-button"
          onClick={() => onNewSession(name, { text: lastPrompt(session) })}
        >
          {title === "" ? name : title}
        </button>
      ))}
    </div>
  );
}

/** Empty if agents cannot be listed; the card works without them. */
function useAgents(gateway: Gateway): readonly Agent[] {
  const agents = useSignal<readonly Agent[]>([]);
  useEffect(() => {
    gateway.client.listAgents({}).then(
      (answer) => (agents.value = answer.agents),
      () => undefined,
    );
  }, [gateway]);
  return agents.value;
}
