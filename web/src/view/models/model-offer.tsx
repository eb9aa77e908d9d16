// Offer in a session of Porter without a model: connect one, or use another agent.

import { useComputed, type ReadonlySignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { Agent } from "../../generated/portico/v1/agent_pb";
import { TurnState } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import type { OnNewSession } from "../cards";
import { connectDialog, lacksModel } from "./connect-state";

const MOST_AGENTS = 3;

export interface ModelOfferProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly agents: ReadonlySignal<readonly Agent[]>;
  readonly onNewSession: OnNewSession;
}

/** Shows nothing if the session has a model. */
export function ModelOffer({ session, gateway, agents, onNewSession }: ModelOfferProps) {
  const detail = session.detail.value;
  if (!lacksModel(detail)) return null;
  const own = detail?.summary?.agent;
  const others = agents.value.filter(({ installed, name }) => installed && name !== own);
  return (
    <div class="p-model-offer">
      <button
        type="button"
        class="p-button p-button-main"
        onClick={() => (connectDialog(gateway).value = "model")}
      >
        Connect a model
      </button>
      <button type="button" class="p-button" onClick={() => (connectDialog(gateway).value = "coder")}>
        Get the offline coder
      </button>
      {others.slice(0, MOST_AGENTS).map(({ name, title }) => (
        <button key={name} type="button" class="p-button" onClick={() => onNewSession(name)}>
          Use {title === "" ? name : title}
        </button>
      ))}
    </div>
  );
}

/** The same below the answer to a prompt that was no command: a model would have helped. */
export function ModelOfferBelowAnswer(props: ModelOfferProps) {
  const { items, state } = props.session;
  const isUseful = useComputed(() => {
    if (state.value !== TurnState.COMPLETED) return false;
    const prompt = items.value.findLast((item) => item.type === "prompt");
    return prompt !== undefined && !prompt.text.startsWith("/");
  }).value;
  return isUseful ? <ModelOffer {...props} /> : null;
}
