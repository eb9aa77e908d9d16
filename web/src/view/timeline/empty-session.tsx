// A session without prompts: agent, folder and commands.

import { useComputed } from "@preact/signals";
import { ModelOffer, type ModelOfferProps } from "../models/model-offer";
import { putIntoDraft } from "./row-context";

const MOST_COMMANDS = 12;

export function EmptySession({ session, gateway, agents, onNewSession }: ModelOfferProps) {
  const detail = session.detail.value;
  const commands = useComputed(() => session.detail.value?.commands ?? []).value;
  if (detail === undefined) return null;
  const { agent = "", workspace = "" } = detail.summary ?? {};
  const folder = workspace.split(/[\\/]/).findLast((name) => name !== "") ?? workspace;
  return (
    <div class="p-empty">
      <h2 class="p-empty-title">
        {agent === "" ? "New session" : `${agent[0]?.toUpperCase() ?? ""}${agent.slice(1)}`}
      </h2>
      <p class="p-soft p-empty-folder">
        <i class="codicon codicon-folder" aria-hidden="true" />
        <span title={workspace}>{folder}</span>
      </p>
      <ModelOffer session={session} gateway={gateway} agents={agents} onNewSession={onNewSession} />
      {commands.length === 0 ? (
        <p class="p-soft">Ask about this folder, or describe a task.</p>
      ) : (
        <ul class="p-empty-commands" aria-label="Commands">
          {commands.slice(0, MOST_COMMANDS).map(({ name, description, hint }) => (
            <li key={name}>
              <button
                type="button"
                class="p-empty-command"
                onClick={() => putIntoDraft(session, `/${name} `)}
              >
                <span class="p-mono">
                  /{name} {hint !== "" && <span class="p-empty-hint">{hint}</span>}
                </span>
                <span class="p-soft">{description}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
