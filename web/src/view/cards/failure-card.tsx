// A failed call of the session, with actions.

import { ErrorCode } from "../../generated/portico/v1/events_pb";
import type { Failure } from "../../model/types";
import { AgentChoice, InstallHint } from "./agent-choice";
import { BusyFolderActions } from "./busy-folder-actions";
import type { CardProps } from "./card";
import { KeyDisclosure } from "./key-form";
import { guideFor } from "./error-guide";
import { SignInMethods } from "./sign-in-methods";

export function FailureCard({ session, gateway, onNewSession }: Omit<CardProps, "item">) {
  const failure = session.failure.value;
  if (failure === undefined) return null;
  return (
    <div class="p-card p-card-bad p-failure" role="alert">
      <p class="p-card-title">
        <i class="codicon codicon-error" aria-hidden="true" />
        <span class="p-card-words">{failure.message}</span>
        <button
          type="button"
          class="p-icon-button"
          aria-label="Dismiss"
          onClick={() => (session.failure.value = undefined)}
        >
          <i class="codicon codicon-close" aria-hidden="true" />
        </button>
      </p>
      {failure.suggestion !== "" && <p class="p-card-about p-soft">{failure.suggestion}</p>}
      <FailureActions failure={failure} session={session} gateway={gateway} onNewSession={onNewSession} />
    </div>
  );
}

function FailureActions({
  failure,
  session,
  gateway,
  onNewSession,
}: Omit<CardProps, "item"> & { readonly failure: Failure }) {
  const { code = ErrorCode.UNSPECIFIED, agent: named = "", authMethods = [] } = failure.details ?? {};
  const agent = named === "" ? (session.detail.value?.summary?.agent ?? "") : named;
  const { actions } = guideFor(code);
  return (
    <>
      {actions.includes("install") && (
        <InstallHint agent={agent} hint={failure.suggestion} gateway={gateway} />
      )}
      {actions.includes("other_agent") && (
        <AgentChoice agent={agent} gateway={gateway} session={session} onNewSession={onNewSession} />
      )}
      {actions.includes("sign_in") && (
        <SignInMethods methods={authMethods} session={session} gateway={gateway} />
      )}
      {actions.includes("connect") && (
        <KeyDisclosure agent={agent} hint={failure.suggestion} gateway={gateway} />
      )}
      {actions.includes("stop_other") && (
        <BusyFolderActions session={session} gateway={gateway} onNewSession={onNewSession} />
      )}
    </>
  );
}
