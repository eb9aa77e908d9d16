// What to do in a session of Porter without a model: connect one, or use another agent.

import type { ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { Agent } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import type { OnNewSession } from "../cards";
import { connectDialogOpen, lacksModel } from "./connect-state";

const MOST_AGENTS = 3;

export interface ModelWaysProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly agents: ReadonlySignal<readonly Agent[]>;
  readonly onNewSession: OnNewSession;
}

/** Nothing, if the session has a model. */
export function ModelWays({ session, gateway, agents, onNewSession }: ModelWaysProps) {
  const detail = session.detail.value;
  if (!lacksModel(detail)) return null;
  const own = detail?.summary?.agent;
  const others = agents.value.filter(({ installed, name }) => installed && name !== own);
  return (
    <div class="p-ways">
      <button
        type="button"
        class="p-button p-button-main"
        onClick={() => (connectDialogOpen(gateway).value = true)}
      >
        Connect a model
      </button>
      {others.slice(0, MOST_AGENTS).map(({ name, title }) => (
        <button key={name} type="button" class="p-button" onClick={() => onNewSession(name)}>
          Use {title === "" ? name : title}
        </button>
      ))}
    </div>
  );
}
