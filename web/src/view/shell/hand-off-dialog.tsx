// Asks which agent continues a session.

import type { Agent, SessionSummary } from "../../generated/portico/v1/agent_pb";
import { sessionTitle } from "../../model/session-summary";
import { Dialog } from "../dialog";
import { modeLabel } from "../review/review-labels";
import type { AppModel } from "./app-model";
import { focusComposer } from "./composer-focus";

export function HandOffDialog({ app }: { readonly app: AppModel }) {
  const session = app.handingOff.value;
  return session === undefined ? null : <AgentQuestion app={app} session={session} />;
}

function AgentQuestion({ app, session }: { readonly app: AppModel; readonly session: SessionSummary }) {
  const leave = (): void => {
    app.handingOff.value = undefined;
  };
  const choose = async ({ name }: Agent): Promise<void> => {
    leave();
    await app.handOff(session.sessionId, name);
    focusComposer();
  };
  const installed = app.agents.value.filter((agent) => agent.installed);
  return (
    <Dialog title={`Continue “${sessionTitle(session)}” with…`} kind="hand-off" onLeave={leave}>
      <p class="p-soft">
        The agent gets a new session in the same folder ({modeName(session)}), and a summary of this one with
        your first prompt: goal, decisions, open points and changed files.
      </p>
      <div class="p-card-actions">
        {installed.map((agent) => (
          <button key={agent.name} type="button" class="p-button" onClick={() => void choose(agent)}>
            {agent.title === "" ? agent.name : agent.title}
          </button>
        ))}
      </div>
    </Dialog>
  );
}

function modeName({ readsOnly, mode }: SessionSummary): string {
  return readsOnly ? "read only" : `review mode: ${modeLabel(mode).name}`;
}
