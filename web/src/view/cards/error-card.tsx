// An error of the session, with what can be done about it while it is the last thing that happened.

import { ErrorCode, type ErrorReported } from "../../generated/portico/v1/events_pb";
import type { ErrorItem } from "../../model/types";
import { AgentChoice, InstallHint } from "./agent-choice";
import { BusyWays } from "./busy-ways";
import { isActive, lastPrompt, useIsLatest, type CardProps } from "./card";
import { ConnectForm } from "./connect-form";
import { CopyButton } from "./copy-button";
import { Disclosure } from "./disclosure";
import { planFor, reportText, type ErrorAction, type ErrorPlan } from "./error-plan";
import { SignInWays } from "./sign-in-ways";

export function ErrorCard(props: CardProps<ErrorItem>) {
  const { item, session } = props;
  const { error } = item;
  const latest = useIsLatest(item, session).value;
  const plan = planFor(error.code, error.details?.modelFailure);
  const suggestion = error.details?.suggestion ?? "";
  const stderr = error.details?.stderr ?? "";
  const facts = [ErrorCode[error.code], error.details?.agent ?? "", error.details?.exitStatus ?? ""];
  return (
    <div class={`p-card p-card-${plan.tone}`} role="group" aria-label={`Error: ${plan.title}`}>
      <p class="p-card-title">
        <i class={`codicon codicon-${plan.tone === "bad" ? "error" : "warning"}`} aria-hidden="true" />
        <span class="p-card-words">{plan.title}</span>
      </p>
      <p class="p-card-about">{error.message}</p>
      {latest && suggestion !== "" && <p class="p-card-about p-soft">{suggestion}</p>}
      {latest && <ErrorActions {...props} error={error} plan={plan} />}
      <p class="p-card-facts p-soft">{facts.filter((fact) => fact !== "").join(" · ")}</p>
      {stderr.trim() !== "" && (
        <Disclosure label="Last words of the agent">
          <pre class="p-mono p-details-code">{stderr.trimEnd()}</pre>
        </Disclosure>
      )}
    </div>
  );
}

interface ActionsProps extends CardProps<ErrorItem> {
  readonly error: ErrorReported;
  readonly plan: ErrorPlan;
}

function ErrorActions({ error, plan, session, gateway, onNewSession }: ActionsProps) {
  const offers = (action: ErrorAction): boolean => plan.actions.includes(action);
  const busy = isActive(session.state.value);
  const agent = error.details?.agent ?? session.detail.value?.summary?.agent ?? "";
  if (busy) return null;
  return (
    <>
      {offers("install") && (
        <InstallHint agent={agent} hint={error.details?.suggestion ?? ""} gateway={gateway} />
      )}
      {offers("sign_in") && (
        <SignInWays methods={error.details?.authMethods ?? []} session={session} gateway={gateway} />
      )}
      {offers("connect") && (
        <ConnectForm agent={agent} hint={error.details?.suggestion ?? ""} gateway={gateway} />
      )}
      {offers("stop_other") && <BusyWays session={session} gateway={gateway} onNewSession={onNewSession} />}
      <div class="p-card-actions">
        {offers("retry") && (
          <button
            type="button"
            class={mainIf(plan.actions[0] === "retry")}
            onClick={() => void session.retry()}
          >
            Try again
          </button>
        )}
        {offers("new_session") && (
          <button
            type="button"
            class={mainIf(plan.actions[0] === "new_session")}
            onClick={() => onNewSession(agent, { words: lastPrompt(session) })}
          >
            New session with this prompt
          </button>
        )}
        {offers("report") && (
          <CopyButton label="Copy a report" text={() => report(error, session.id, gateway.pageBuild)} />
        )}
      </div>
      {offers("other_agent") && (
        <AgentChoice agent={agent} gateway={gateway} session={session} onNewSession={onNewSession} />
      )}
    </>
  );
}

function mainIf(main: boolean): string {
  return main ? "p-button p-button-main" : "p-button";
}

function report({ code, message, details }: ErrorReported, sessionId: string, version: string): string {
  return reportText({
    code: ErrorCode[code],
    message,
    agent: details?.agent ?? "",
    exitStatus: details?.exitStatus ?? "",
    stderr: details?.stderr ?? "",
    version,
    sessionId,
  });
}
