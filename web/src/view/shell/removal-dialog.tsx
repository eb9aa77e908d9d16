// Asks before a session goes that has something the person did not decide on, and says what goes with it.

import { countOf } from "../../model/review-deeds";
import { Dialog } from "../review/dialog";
import { totalOf } from "../review/proposal-card";
import { DiffCounts } from "../timeline/diff-view";
import type { AppModel } from "./app-model";
import { focusComposer } from "./focus";
import type { Asked } from "./removals";

export function RemovalDialog({ app }: { readonly app: AppModel }) {
  const { asked } = app.removals;
  return asked.value === undefined ? null : <Question app={app} asked={asked.value} />;
}

function Question({ app, asked }: { readonly app: AppModel; readonly asked: Asked }) {
  const { session, stakes } = asked;
  const { files, unlisted, branch } = stakes;
  const changed = files.length + unlisted;
  const leave = (): void => {
    app.removals.asked.value = undefined;
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
    <Dialog
      title={`Delete “${session.title === "" ? "New session" : session.title}”?`}
      kind="removal"
      onLeave={leave}
    >
      {changed > 0 && (
        <p>
          It proposes changes to {countOf(changed, "file")} <DiffCounts counts={totalOf(files)} /> that you
          have not decided on. They are lost with it. Your files stay as they are.
        </p>
      )}
      {branch !== "" && (
        <p>
          It works on the branch <code>{branch}</code>, which is not finished. Your folder stays on that
          branch, and the page no longer offers to bring it home.
        </p>
      )}
      <div class="p-card-actions">
        <button type="button" class="p-button p-button-main" onClick={look}>
          Open the session
        </button>
        <button type="button" class="p-button p-button-bad" onClick={remove}>
          {changed > 0 ? "Delete with the changes" : "Delete"}
        </button>
        <button type="button" class="p-button" onClick={leave}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
