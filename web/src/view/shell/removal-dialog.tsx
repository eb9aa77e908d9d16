// Confirms the deletion of a session with unfinished work.

import { countOf } from "../../model/review-actions";
import { Dialog } from "../dialog";
import { totalOf } from "../review/proposal-card";
import { DiffCounts } from "../timeline/diff-view";
import type { AppModel } from "./app-model";
import { focusComposer } from "./composer-focus";
import type { RemovalRequest } from "./removals";
import { sessionTitle } from "../../model/session-summary";

export function RemovalDialog({ app }: { readonly app: AppModel }) {
  const { request } = app.removals;
  return request.value === undefined ? null : <RemovalQuestion app={app} asked={request.value} />;
}

function RemovalQuestion({ app, asked }: { readonly app: AppModel; readonly asked: RemovalRequest }) {
  const { session, work } = asked;
  const { files, unlisted, branch } = work;
  const changed = files.length + unlisted;
  const leave = (): void => {
    app.removals.request.value = undefined;
  };
  const look = (): void => {
    leave();
    app.openSession(session.sessionId);
  };
  const remove = (): void => {
    app.removeAnyway(asked);
    focusComposer();
  };
  return (
    <Dialog title={`Delete “${sessionTitle(session)}”?`} kind="removal" onLeave={leave}>
      {changed > 0 && (
        <p>
          It has proposed changes to {countOf(changed, "file")} <DiffCounts counts={totalOf(files)} /> that
          you have not applied or discarded. They will be lost. Your files stay as they are.
        </p>
      )}
      {branch !== "" && (
        <p>
          Its branch <code>{branch}</code> is not finished. Your folder stays on that branch, and the page no
          longer offers to merge it.
        </p>
      )}
      <div class="p-card-actions">
        <button type="button" class="p-button p-button-main" onClick={look}>
          Open session
        </button>
        <button type="button" class="p-button p-button-bad" onClick={remove}>
          {changed > 0 ? "Delete with changes" : "Delete"}
        </button>
        <button type="button" class="p-button" onClick={leave}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
