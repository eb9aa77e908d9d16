// Auto-accept of edits: while it is on, this page allows changes of files in the workspace without a question.

import { effect, signal, untracked, type Signal } from "@preact/signals";
import { PermissionScope, ToolKind, type PermissionRequested } from "../../generated/portico/v1/events_pb";
import type { Decision, SessionModel } from "../../model/types";
import { AUTO_ACCEPT_KEYS } from "../shell/shortcut-keys";
import { onceOption } from "./permission-labels";

const known = new WeakMap<SessionModel, Signal<boolean>>();

/** Whether edits of a session are accepted without a question; off until the person switches it on. */
export function autoAcceptOf(session: SessionModel): Signal<boolean> {
  const before = known.get(session);
  if (before !== undefined) return before;
  const on = signal(false);
  known.set(session, on);
  const answered = new Set<string>();
  effect(() => {
    if (!on.value) return;
    const decisions = (session.detail.value?.permissions ?? []).flatMap((request) => {
      if (answered.has(request.requestId)) return [];
      const decision = acceptedEdit(request);
      if (decision !== undefined) answered.add(request.requestId);
      return decision === undefined ? [] : [decision];
    });
    if (decisions.length > 0) untracked(() => void session.decide(decisions));
  });
  return on;
}

/** The decision on a plain edit in the workspace; what is protected, outside or in doubt is left to the person. */
export function acceptedEdit(request: PermissionRequested): Decision | undefined {
  const option = onceOption(request);
  const isPlain =
    request.toolKind === ToolKind.EDIT && request.widerRule !== "" && request.risks.length === 0;
  if (option === undefined || !isPlain) return undefined;
  return { requestId: request.requestId, optionId: option.optionId, scope: PermissionScope.ONCE };
}

/** Line above the composer, all the time that it is on. */
export function AutoAcceptNote({ session }: { readonly session: SessionModel }) {
  const on = autoAcceptOf(session);
  if (!on.value) return null;
  return (
    <p class="p-note" role="status">
      <i class="codicon codicon-pass" aria-hidden="true" />
      <span class="p-note-words">Auto-accept edits is on: changes in this folder need no approval</span>
      <button
        type="button"
        class="p-link-button"
        title={`Turn off (${AUTO_ACCEPT_KEYS})`}
        onClick={() => (on.value = false)}
      >
        Turn off
      </button>
    </p>
  );
}
