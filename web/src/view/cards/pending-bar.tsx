// Bar above the composer with waiting requests, which answers several at once.

import { useComputed, useSignal } from "@preact/signals";
import {
  PermissionScope,
  type PermissionOption,
  type PermissionRequested,
} from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import { focusComposer } from "../shell/composer-focus";
import { revealRequest } from "../timeline/request-reveal";
import { cardId } from "./request-card";
import { denyingOption, onceOption, shortTitle } from "./permission-labels";

/** Frames within which a card must appear. */
const FRAMES = 20;

interface PendingBarProps {
  readonly session: SessionModel;
  /** Brings the place of a request into view, so that its card is in the document. */
  readonly onShow?: ((requestId: string) => void) | undefined;
}

export function PendingBar({ session }: PendingBarProps) {
  const permissions = useComputed(() => session.detail.value?.permissions ?? []).value;
  const questions = useComputed(() => session.detail.value?.questions ?? []).value;
  const answering = useSignal(false);
  const first = permissions[0]?.requestId ?? questions[0]?.requestId;
  if (first === undefined) return null;

  const decideAll = async (
    choose: (request: PermissionRequested) => PermissionOption | undefined,
  ): Promise<void> => {
    const decisions = permissions.flatMap((request) => {
      const optionId = choose(request)?.optionId;
      return optionId === undefined
        ? []
        : [{ requestId: request.requestId, optionId, scope: PermissionScope.ONCE }];
    });
    answering.value = true;
    await session.decide(decisions);
    answering.value = false;
  };
  const workspace = session.detail.value?.summary?.workspace ?? "";
  const several = permissions.length > 1;
  return (
    <div class="p-pending" role="group" aria-label="Waiting for you">
      <span class="p-dot p-dot-waiting" aria-hidden="true" />
      <span class="p-pending-words" role="status">
        {several
          ? `${permissions.length} requests are waiting for you`
          : `Waiting for you: ${requestTitle(permissions, questions, workspace)}`}
      </span>
      {several && permissions.every(onceOption) && (
        <button
          type="button"
          class="p-button"
          disabled={answering.value}
          onClick={() => void decideAll(onceOption)}
        >
          Allow all once
        </button>
      )}
      {several && permissions.every(denyingOption) && (
        <button
          type="button"
          class="p-button"
          disabled={answering.value}
          onClick={() => void decideAll(denyingOption)}
        >
          Reject all
        </button>
      )}
      <button type="button" class="p-link-button" onClick={() => showRequest(session, first)}>
        Show
      </button>
    </div>
  );
}

/** After an answer the focus goes to the next request, or back to the composer. */
export function focusNextRequest(session: SessionModel, answered: string): void {
  const { permissions = [], questions = [] } = session.detail.peek() ?? {};
  const next = [...permissions, ...questions].find(({ requestId }) => requestId !== answered);
  if (next === undefined) focusComposer();
  else showRequest(session, next.requestId);
}

/** Moves the focus to a card, not to one of its buttons: no key that is held down may answer it. */
export function showRequest(session: SessionModel, requestId: string): void {
  if (document.getElementById(cardId(requestId)) === null) revealRequest(session, requestId);
  focusCard(requestId, FRAMES);
}

/** A card that was out of sight is in the document a few frames after its place came into view. */
function focusCard(requestId: string, frames: number): void {
  const card = document.getElementById(cardId(requestId));
  if (card !== null) focusFromTheTop(card);
  else if (frames > 0) requestAnimationFrame(() => focusCard(requestId, frames - 1));
}

/** The request is at the top of a card and must be visible before it is answered. */
function focusFromTheTop(card: HTMLElement): void {
  const room = card.closest("[role=log]")?.clientHeight ?? 0;
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: card.offsetHeight < room ? "nearest" : "start" });
}

function requestTitle(
  permissions: readonly PermissionRequested[],
  questions: readonly { title: string; message: string }[],
  workspace: string,
): string {
  const [permission] = permissions;
  if (permission !== undefined) return shortTitle(permission.title, workspace);
  return questions[0]?.title === "" ? questions[0].message : (questions[0]?.title ?? "");
}
