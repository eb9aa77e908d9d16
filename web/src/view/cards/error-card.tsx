// An error of the session, with actions while it is the latest item.

import { ErrorCode, TurnState, type ErrorReported } from "../../generated/portico/v1/events_pb";
import type { ErrorItem } from "../../model/types";
import { AgentChoice, InstallHint } from "./agent-choice";
import { BusyFolderActions } from "./busy-folder-actions";
import { isActive, lastPrompt, useIsLatest, type CardProps } from "./card";
import { KeyDisclosure } from "./key-form";
import { CopyButton } from "./copy-button";
import { Disclosure } from "./disclosure";
import { guideFor, reportText, type ErrorAction, type ErrorGuide } from "./error-guide";
import { SignInMethods } from "./sign-in-methods";

export function ErrorCard(props: CardProps<ErrorItem>) {
  const { item, session } = props;
  const { error } = item;
  const latest = useIsLatest(item, session).value;
  const guide = guideFor(error.code, error.details?.modelFailure);
  const suggestion = error.details?.suggestion ?? "";
  const stderr = error.details?.stderr ?? "";
  const facts = [ErrorCode[error.code], error.details?.agent ?? "", error.details?.exitStatus ?? ""];
  return (
    <div class={`p-card p-card-${guide.tone}`} role="group" aria-label={`Error: ${guide.title}`}>
      <p class="p-card-title">
        <i class={`codicon codicon-${guide.tone === "bad" ? "error" : "warning"}`} aria-hidden="true" />
        <span class="p-card-words">{guide.title}</span>
      </p>
      <p class="p-card-about">{error.message}</p>
      {latest && suggestion !== "" && <p class="p-card-about p-soft">{suggestion}</p>}
      {latest && <ErrorActions {...props} error={error} guide={guide} />}
      <Disclosure label="Details">
        <p class="p-card-facts p-soft">{facts.filter((fact) => fact !== "").join(" · ")}</p>
        {stderr.trim() !== "" && (
          <pre class="p-mono p-details-code" aria-label="Last output of the agent">
            {stderr.trimEnd()}
          </pre>
        )}
      </Disclosure>
    </div>
  );
}

interface ActionsProps extends CardProps<ErrorItem> {
  readonly error: ErrorReported;
  readonly guide: ErrorGuide;
}

function ErrorActions({ error, guide, session, gateway, onNewSession }: ActionsProps) {
  const offers = (action: ErrorAction): boolean => guide.actions.includes(action);
  const state = session.state.value;
  const agent = error.details?.agent ?? session.detail.value?.summary?.agent ?? "";
  if (isActive(state) || state === TurnState.CANCELED) return null;
  return (
    <>
      {offers("install") && (
        <InstallHint agent={agent} hint={error.details?.suggestion ?? ""} gateway={gateway} />
      )}
      {offers("sign_in") && (
        <SignInMethods methods={error.details?.authMethods ?? []} session={session} gateway={gateway} />
      )}
      {offers("connect") && (
        <KeyDisclosure agent={agent} hint={error.details?.suggestion ?? ""} gateway={gateway} />
      )}
      {offers("stop_other") && (
        <BusyFolderActions session={session} gateway={gateway} onNewSession={onNewSession} />
      )}
      <div class="p-card-actions">
        {offers("retry") && (
          <button
            type="button"
            class={mainIf(guide.actions[0] === "retry")}
            onClick={() => void session.retry()}
          >
            Retry
          </button>
        )}
        {offers("new_session") && (
          <button
            type="button"
            class={mainIf(guide.actions[0] === "new_session")}
            onClick={() => onNewSession(agent, { text: lastPrompt(session) })}
          >
            New session with this prompt
          </button>
        )}
        {state === TurnState.INTERRUPTED && (
          <button type="button" class="p-button" onClick={() => void session.discard()}>
            Dismiss
          </button>
        )}
        {offers("report") && (
          <CopyButton label="Copy details" text={() => report(error, session.id, gateway.pageBuild)} />
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
