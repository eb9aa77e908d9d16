// A session without prompts: things to do in its folder, recent sessions, and all commands.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useComputed, useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { SessionSummary, Suggestion } from "../../generated/portico/v1/agent_pb";
import type { Command } from "../../generated/portico/v1/events_pb";
import { sessionTitle } from "../../model/session-summary";
import type { SessionModel } from "../../model/types";
import { Disclosure } from "../cards/disclosure";
import { ModelOffer, type ModelOfferProps } from "../models/model-offer";
import { ago } from "../shell/relative-time";
import { putIntoDraft } from "./row-context";

export interface RecentSessions {
  readonly sessions: ReadonlySignal<readonly SessionSummary[]>;
  readonly open: (sessionId: string) => void;
}

interface EmptySessionProps extends ModelOfferProps {
  readonly recent?: RecentSessions | undefined;
}

export function EmptySession({ recent, ...props }: EmptySessionProps) {
  const { session } = props;
  const detail = session.detail.value;
  const commands = useComputed(() => session.detail.value?.commands ?? []).value;
  const suggestions = useSuggestions(props, commands);
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
      <ModelOffer {...props} />
      <p class="p-soft">Ask about this folder, describe a task, or begin with one of these:</p>
      <ul class="p-empty-list" aria-label="Suggestions">
        {suggestions.map(({ title, detail: about, prompt }) => (
          <Row key={title} name={title} about={about} act={() => putIntoDraft(session, prompt)} />
        ))}
      </ul>
      {recent !== undefined && <Recent {...recent} />}
      {commands.length > 0 && <Commands commands={commands} session={session} />}
    </div>
  );
}

function Recent({ sessions, open }: RecentSessions) {
  if (sessions.value.length === 0) return null;
  const now = new Date();
  return (
    <>
      <h3 class="p-history-day">Recent sessions</h3>
      <ul class="p-empty-list" aria-label="Recent sessions">
        {sessions.value.map((one) => (
          <Row
            key={one.sessionId}
            name={sessionTitle(one)}
            about={one.updatedAt === undefined ? "" : ago(timestampDate(one.updatedAt), now)}
            act={() => open(one.sessionId)}
          />
        ))}
      </ul>
    </>
  );
}

interface CommandsProps {
  readonly commands: readonly Command[];
  readonly session: SessionModel;
}

function Commands({ commands, session }: CommandsProps) {
  return (
    <Disclosure label="All commands">
      <ul class="p-empty-list" aria-label="Commands">
        {commands.map(({ name, description }) => (
          <Row
            key={name}
            name={`/${name}`}
            about={description}
            act={() => putIntoDraft(session, `/${name} `)}
          />
        ))}
      </ul>
    </Disclosure>
  );
}

function Row({
  name,
  about,
  act,
}: {
  readonly name: string;
  readonly about: string;
  readonly act: () => void;
}) {
  return (
    <li>
      <button type="button" class="p-empty-row" title={name} onClick={act}>
        <span class="p-empty-name" dir="auto">
          {name}
        </span>
        <span class="p-soft">{about}</span>
      </button>
    </li>
  );
}

/** Asked for again when the commands of the agent become known: they change what a suggestion sends. */
function useSuggestions(
  { session, gateway }: ModelOfferProps,
  commands: readonly Command[],
): readonly Suggestion[] {
  const suggestions = useSignal<readonly Suggestion[]>([]);
  const names = commands.map(({ name }) => name).join(" ");
  useEffect(() => {
    let current = true;
    gateway.client.listSuggestions({ sessionId: session.id }).then(
      (answer) => {
        if (current) suggestions.value = answer.suggestions;
      },
      () => undefined, // The welcome is whole without them.
    );
    return () => {
      current = false;
    };
  }, [session, gateway, names]);
  return suggestions.value;
}
