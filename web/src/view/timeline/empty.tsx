// A session that nobody has asked anything yet: who is there, where, and what can be asked.

import { useComputed } from "@preact/signals";
import type { Gateway } from "../../gateway/types";
import type { SessionModel } from "../../model/types";
import { lacksModel, wantsModel } from "../models/wanting";
import { putIntoDraft } from "./context";

const MOST_COMMANDS = 12;

interface EmptyProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
}

export function Empty({ session, gateway }: EmptyProps) {
  const detail = session.detail.value;
  const commands = useComputed(() => session.detail.value?.commands ?? []).value;
  if (detail === undefined) return null;
  const { agent = "", workspace = "" } = detail.summary ?? {};
  const folder = workspace.split(/[\\/]/).findLast((name) => name !== "") ?? workspace;
  return (
    <div class="p-empty">
      <h2 class="p-empty-title">
        {agent === "" ? "A new session" : `${agent[0]?.toUpperCase() ?? ""}${agent.slice(1)}`}
      </h2>
      <p class="p-soft p-empty-folder">
        <i class="codicon codicon-folder" aria-hidden="true" />
        <span title={workspace}>{folder}</span>
      </p>
      {lacksModel(detail) && (
        <button
          type="button"
          class="p-button p-button-main"
          onClick={() => (wantsModel(gateway).value = true)}
        >
          Connect a model
        </button>
      )}
      {commands.length === 0 ? (
        <p class="p-soft">Ask something about this folder, or say what is to be done.</p>
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
