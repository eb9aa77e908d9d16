// List of the files of a proposal: operation, decision, and the reader's position.

import type { ProposedFile } from "../../generated/portico/v1/events_pb";
import type { Review } from "../../model/review";
import { countOf } from "../../model/review-actions";
import type { HunkDecisions } from "../../model/hunk-decisions";
import { decidableFile } from "../../model/review-selection";
import { DiffCounts } from "../timeline/diff-view";
import { Icon } from "../timeline/elements";
import { FileName } from "./file-head";
import type { ReviewView } from "./review-view";

export function FileList({ review, view }: { readonly review: Review; readonly view: ReviewView }) {
  const proposal = review.proposal.value;
  if (proposal === undefined) return null;
  const at = view.at.value ?? view.scroller.top.value;
  const decisions = review.choicesOf(proposal.proposalId);
  return (
    <nav class="p-rfiles" aria-label="Files">
      <ul>
        {proposal.files.map((file) => {
          const state = stateOf(
            file,
            decisions,
            review.hunksOf(proposal, file).map(({ hunkId }) => hunkId),
          );
          return (
            <li key={file.path}>
              <button
                type="button"
                class={`p-rfile${file.path === at ? " p-rfile-at" : ""}`}
                aria-current={file.path === at}
                onClick={() => view.showFile(file.path)}
              >
                <FileName file={file} />
                <DiffCounts counts={file} />
                <span class={`p-rfile-state p-rfile-${state.tone}`} title={state.words}>
                  <Icon name={state.icon} />
                  <span class="p-aloud">{state.words}</span>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
      {proposal.unlisted > 0 && (
        <p class="p-rfiles-more p-soft">and {countOf(proposal.unlisted, "more file")}</p>
      )}
    </nav>
  );
}

interface FileState {
  readonly tone: "plain" | "good" | "bad" | "warning";
  readonly icon: string;
  readonly words: string;
}

function stateOf(file: ProposedFile, decisions: HunkDecisions, ids: readonly string[]): FileState {
  if (file.denied) return { tone: "warning", icon: "lock", words: "protected" };
  if (file.conflict && decisions.sideOf(file.path) === undefined) {
    return { tone: "warning", icon: "git-merge", words: "conflict" };
  }
  const decided = (ids.length === 0 ? decidableFile(file, []).hunkIds : ids).map((id) =>
    decisions.of(file.path, id),
  );
  if (decided.every((one) => one === false)) return { tone: "bad", icon: "close", words: "rejected" };
  if (decided.every((one) => one === true)) return { tone: "good", icon: "check", words: "accepted" };
  if (decided.some((one) => one === false))
    return { tone: "plain", icon: "circle-slash", words: "partly accepted" };
  return { tone: "plain", icon: "blank", words: "" };
}
