// The dialog with the board of sessions and what they cost. In a browser it has the addresses #board and #costs.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { reviewOf } from "../../model/review";
import { Dialog } from "../dialog";
import type { AppModel } from "../shell/app-model";
import { Board } from "./board-view";
import { adoptBoardStyles } from "./board-styles";
import { Choices } from "./choices";
import { Costs } from "./costs-view";

const PAGES = { board: "Sessions", costs: "Costs" } as const;

adoptBoardStyles();

export function BoardDialog({ app, onLeave }: { app: AppModel; onLeave: () => void }) {
  const page = useSignal(location.hash === "#costs" ? "costs" : "board");
  useEffect(() => {
    setAddress(`#${page.value}`);
    return () => setAddress("");
  }, [page.value]);
  const open = (sessionId: string, review: boolean): void => {
    onLeave();
    app.openSession(sessionId);
    if (review) void showReview(app, sessionId);
  };
  return (
    <Dialog title="All sessions" kind="board" onLeave={onLeave}>
      <Choices label="View" value={page.value} choices={PAGES} onChange={(one) => (page.value = one)} />
      {page.value === "board" ? (
        <Board app={app} onOpen={open} />
      ) : (
        <Costs gateway={app.gateway} workspace={app.info.value?.workspace ?? ""} />
      )}
    </Dialog>
  );
}

async function showReview(app: AppModel, sessionId: string): Promise<void> {
  const { proposals } = await app.gateway.client.getProposal({ sessionId });
  const front = app.front.peek();
  const [first] = proposals;
  if (front?.id === sessionId && first !== undefined) reviewOf(front, app.gateway).show(first.proposalId);
}

/** In an editor the address is the editor's own. */
function setAddress(hash: string): void {
  if (location.protocol.startsWith("http") && location.hash !== hash) {
    history.replaceState(history.state, "", hash === "" ? location.pathname + location.search : hash);
  }
}
