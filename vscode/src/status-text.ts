// Text of the status bar: state of the server, agent and model of the current session.

import type { SessionDetail, SessionSummary } from "../../web/src/generated/portico/v1/agent_pb";
import { moodOf, turnStateLabel as stateWords, type TurnMood } from "../../web/src/view/shell/turn-state";
import { sessionTitle } from "../../web/src/model/session-summary";
import { UntrustedWorkspace, failureText } from "./server/start-failure";
import type { ServerState } from "./server/server";

export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  readonly tone: "plain" | "warning" | "error";
}

const ICONS: Readonly<Record<TurnMood, string>> = {
  quiet: "comment-discussion",
  busy: "loading~spin",
  waiting: "bell-dot",
  bad: "warning",
};

export function statusText(server: ServerState, session: SessionDetail | undefined): StatusText {
  switch (server.state) {
    case "off":
      return { text: "$(comment-discussion) Portico", tooltip: "Open the chat", tone: "plain" };
    case "starting":
      return { text: "$(loading~spin) Portico", tooltip: "Portico is starting", tone: "plain" };
    case "failed":
      return server.error instanceof UntrustedWorkspace
        ? { text: "$(shield) Portico", tooltip: failureText(server.error), tone: "plain" }
        : { text: "$(error) Portico", tooltip: failureText(server.error), tone: "error" };
    case "running":
      return session?.summary === undefined
        ? {
            text: "$(comment-discussion) Portico",
            tooltip: `Portico ${server.address.version}`,
            tone: "plain",
          }
        : sessionStatus(session.summary, modelOf(session), server.address.version);
  }
}

/** The model that the agent says it uses; empty if it says nothing. */
function modelOf({ options }: SessionDetail): string {
  const option = options.find(({ category }) => category === "model");
  if (option?.value.case !== "choice") return "";
  const { value } = option.value;
  return option.choices.find((choice) => choice.value === value)?.name ?? value;
}

function sessionStatus(summary: SessionSummary, model: string, version: string): StatusText {
  const mood = moodOf(summary.state);
  const who = [summary.agent, model].filter((part) => part !== "").join(" · ");
  return {
    text: `$(${ICONS[mood]}) ${who}`,
    tooltip: `${sessionTitle(summary)}: ${stateWords(summary.state)}\nPortico ${version}`,
    tone: mood === "waiting" ? "warning" : "plain",
  };
}
