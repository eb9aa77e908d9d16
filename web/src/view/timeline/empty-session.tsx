// A session without prompts: agent, folder and commands.

import { useComputed, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { Agent } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import type { OnNewSession } from "../cards";
import { lacksModel, connectDialogOpen } from "../models/connect-state";
import { putIntoDraft } from "./row-context";

const MOST_COMMANDS = 12;
const MOST_AGENTS = 3;

interface EmptyProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly agents: ReadonlySignal<readonly Agent[]>;
  readonly onNewSession: OnNewSession;
}

export function EmptySession({ session, gateway, agents, onNewSession }: EmptyProps) {
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
      {lacksModel(detail) && (
        <div class="p-empty-ways">
          <button
            type="button"
            class="p-button p-button-main"
            onClick={() => (connectDialogOpen(gateway).value = true)}
          >
            Connect a model
          </button>
          {agents.value
            .filter(({ installed, name }) => installed && name !== agent)
            .slice(0, MOST_AGENTS)
            .map(({ name, title }) => (
              <button key={name} type="button" class="p-button" onClick={() => onNewSession(name)}>
                Use {title === "" ? name : title}
              </button>
            ))}
        </div>
      )}
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
