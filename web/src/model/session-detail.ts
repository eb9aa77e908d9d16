// Detail of a session besides its timeline, updated by events.

import { ReviewMode, type SessionDetail } from "../generated/portico/v1/agent_pb";
import {
  ProposalStatus,
  TurnState,
  type Event,
  type ProposalUpdated,
  type StateChanged,
  type TitleUpdated,
  type UsageUpdated,
} from "../generated/portico/v1/events_pb";

const MODES: Readonly<Record<string, ReviewMode>> = {
  direct: ReviewMode.DIRECT,
  proposal: ReviewMode.PROPOSAL,
  branch: ReviewMode.BRANCH,
  worktree: ReviewMode.WORKTREE,
};

/** The detail after one more event; the same object if the event changes nothing in it. */
export function applyEvent(detail: SessionDetail, event: Event): SessionDetail {
  const { payload } = event;
  switch (payload.case) {
    case "stateChanged":
      return withSummary(detail, stateOf(payload.value));
    case "titleUpdated":
      return withTitle(detail, payload.value);
    case "promptSubmitted":
      return withSummary(detail, { isNew: false, state: TurnState.STARTING });
    case "commandsUpdated":
      return { ...detail, commands: payload.value.commands };
    case "configUpdated":
      return { ...detail, options: payload.value.options };
    case "usageUpdated":
      return { ...detail, usage: mergeUsage(detail.usage, payload.value) };
    case "planUpdated":
      return { ...detail, plan: payload.value.entries };
    case "todosUpdated":
      return { ...detail, todos: payload.value.todos };
    case "permissionRequested":
      return waiting(
        detail,
        [...without(detail.permissions, payload.value), payload.value],
        detail.questions,
      );
    case "permissionResolved":
      return waiting(detail, without(detail.permissions, payload.value), detail.questions);
    case "questionAsked":
      return waiting(detail, detail.permissions, [
        ...without(detail.questions, payload.value),
        payload.value,
      ]);
    case "questionAnswered":
      return waiting(detail, detail.permissions, without(detail.questions, payload.value));
    case "turnEnded":
      return waiting(detail, [], []);
    case "proposalUpdated":
      return { ...detail, proposals: openProposals(detail.proposals, payload.value) };
    case "sessionStarted": {
      const mode = MODES[payload.value.mode];
      return mode === undefined ? detail : withSummary(detail, { mode });
    }
    case "componentsUpdated":
    case "checkpointCreated":
    case "checkpointRestored":
    case "editorRequested":
    case "editorReplied":
    case "textDelta":
    case "thinking":
    case "toolStarted":
    case "toolUpdated":
    case "toolCompleted":
    case "notice":
    case "error":
    case undefined:
      return detail;
  }
}

/** A state that comes with an agent's session says how far that agent is confined. */
function stateOf({ state, agentSession }: StateChanged): Partial<Summary> {
  return agentSession === undefined ? { state } : { state, sandbox: agentSession.sandbox };
}

type Summary = NonNullable<SessionDetail["summary"]>;

/** A title of the person stays, whatever the agent says later. */
function withTitle(detail: SessionDetail, { title, byPerson }: TitleUpdated): SessionDetail {
  const named = detail.summary?.named === true;
  return named && !byPerson ? detail : withSummary(detail, { title, named: byPerson });
}

function withSummary(detail: SessionDetail, change: Partial<Summary>): SessionDetail {
  return detail.summary === undefined ? detail : { ...detail, summary: { ...detail.summary, ...change } };
}

function waiting(
  detail: SessionDetail,
  permissions: SessionDetail["permissions"],
  questions: SessionDetail["questions"],
): SessionDetail {
  const before = detail.permissions.length + detail.questions.length;
  const after = permissions.length + questions.length;
  if (before === 0 && after === 0) return detail;
  return withSummary({ ...detail, permissions, questions }, { waiting: after });
}

function openProposals(before: readonly ProposalUpdated[], now: ProposalUpdated): ProposalUpdated[] {
  const others = before.filter((other) => other.proposalId !== now.proposalId);
  return now.status === ProposalStatus.OPEN ? [...others, now] : others;
}

function without<Asked extends { requestId: string }>(
  asked: readonly Asked[],
  { requestId }: { requestId: string },
): Asked[] {
  return asked.filter((other) => other.requestId !== requestId);
}

/** Fields missing from a report are unchanged. */
function mergeUsage(before: UsageUpdated | undefined, now: UsageUpdated): UsageUpdated {
  if (before === undefined) return now;
  const cost = now.cost === undefined ? before : now;
  return {
    ...now,
    used: now.used ?? before.used,
    size: now.size ?? before.size,
    cost: cost.cost,
    currency: cost.currency,
    inputTokens: now.inputTokens ?? before.inputTokens,
    outputTokens: now.outputTokens ?? before.outputTokens,
  };
}
