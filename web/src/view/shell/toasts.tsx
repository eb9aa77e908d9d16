// Toasts: a failed call, a deleted session.

import type { Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Failure } from "../../model/types";
import { useFocusRetention } from "../focus-retention";
import type { AppModel } from "./app-model";
import { focusComposer } from "./composer-focus";
import { sessionTitle } from "../../model/session-summary";

export function FailureToast({ failure }: { failure: Signal<Failure | undefined> }) {
  const told = failure.value;
  if (told === undefined) return null;
  return (
    <div class="p-toast p-toast-bad" role="alert">
      <i class="codicon codicon-error" aria-hidden="true" />
      <span>
        {told.message} {told.suggestion !== "" && <span class="p-soft">{told.suggestion}</span>}
      </span>
      <button
        type="button"
        class="p-icon-button"
        aria-label="Dismiss"
        onClick={() => (failure.value = undefined)}
      >
        <i class="codicon codicon-close" aria-hidden="true" />
      </button>
    </div>
  );
}

export function RemovalToasts({ app }: { app: AppModel }) {
  const part = useRef<HTMLDivElement>(null);
  useFocusRetention(part, focusComposer);
  return (
    <div role="status" ref={part}>
      {app.removals.pending.value.map((session) => (
        <div key={session.sessionId} class="p-toast">
          <span>Deleted “{sessionTitle(session)}”.</span>
          <button type="button" class="p-link-button" onClick={() => app.removals.undo(session.sessionId)}>
            Undo
          </button>
        </div>
      ))}
    </div>
  );
}
