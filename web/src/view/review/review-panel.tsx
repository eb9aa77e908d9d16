// Review of a proposal: files, changes and footer.

import { computed, useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { ProposalOrigin, ProposalStatus, type ProposalUpdated } from "../../generated/portico/v1/events_pb";
import type { Review } from "../../model/review";
import { countOf } from "../../model/review-actions";
import { DiffCounts } from "../timeline/diff-view";
import { IconButton } from "../timeline/elements";
import { preferencesOf } from "../preferences";
import { DiffList } from "./diff-list";
import { FileList } from "./file-list";
import { ReviewFooter } from "./review-footer";
import { useFocusRetention } from "../focus-retention";
import { onReviewKey } from "./review-keys";
import { NoticeBar } from "./notice-bar";
import { ReviewProblems } from "./review-problems";
import { ReviewView } from "./review-view";

interface ReviewPanelProps {
  readonly review: Review;
  /** The folder that the paths of the proposal are in. */
  readonly workspace: string;
  readonly gateway: Gateway;
  /** It covers the conversation. */
  readonly over: boolean;
}

export function ReviewPanel({ review, workspace, gateway, over }: ReviewPanelProps) {
  const panel = useRef<HTMLElement>(null);
  const proposalId = review.open.value;
  const { splitDiffs } = preferencesOf(gateway.memory);
  const view = useMemo(() => {
    const files = computed(() => review.proposal.value?.files ?? []);
    const contents = () => {
      const proposal = review.proposal.value;
      return proposal === undefined ? undefined : review.contentsOf(proposal);
    };
    const decisions = () =>
      review.open.value === undefined ? undefined : review.choicesOf(review.open.value);
    const problems = (path: string) => review.problems.of(path);
    return new ReviewView({ files, contents, decisions, problems }, splitDiffs);
  }, [review, proposalId]);
  const revising = useSignal(false);
  const listed = useSignal(!over);
  const proposal = review.proposal.value;
  const isOver = proposal === undefined || proposal.status !== ProposalStatus.OPEN;
  useLayoutEffect(() => panel.current?.focus({ preventScroll: true }), [proposalId]);
  useFocusRetention(panel);
  useEffect(() => {
    if (isOver) review.close();
  }, [review, isOver]);
  useEffect(() => {
    const wanted = review.wanted.peek() ?? view.source.files.peek()[0]?.path;
    if (wanted !== undefined) requestAnimationFrame(() => view.showFile(wanted));
  }, [view, review.wanted.value]);
  if (proposal === undefined || isOver) return null;
  return (
    <section
      ref={panel}
      class={`p-review${over ? " p-review-over" : ""}`}
      aria-label="Review"
      tabIndex={-1}
      onKeyDown={(event) => onReviewKey(event, { review, view, revising, proposal })}
    >
      <Top review={review} view={view} proposal={proposal} over={over} listed={listed} />
      <NoticeBar
        notice={review.actions.notice}
        undo={proposal.canUndo ? () => void review.actions.undo(proposal) : undefined}
      />
      <ReviewProblems review={review} gateway={gateway} workspace={workspace} />
      <div class="p-review-middle">
        {listed.value && proposal.files.length > 1 && <FileList review={review} view={view} />}
        <DiffList view={view} label="Changes" openFile={opener(gateway, workspace)} />
      </div>
      <ReviewFooter
        review={review}
        proposal={proposal}
        revising={revising}
        onAsked={() => over && review.close()}
      />
    </section>
  );
}

interface TopProps {
  readonly review: Review;
  readonly view: ReviewView;
  readonly proposal: ProposalUpdated;
  readonly over: boolean;
  readonly listed: { value: boolean };
}

function Top({ review, view, proposal, over, listed }: TopProps) {
  const { files, unlisted, origin } = proposal;
  const counts = useComputed(() => ({
    added: view.source.files.value.reduce((sum, file) => sum + file.added, 0),
    removed: view.source.files.value.reduce((sum, file) => sum + file.removed, 0),
  })).value;
  const title = origin === ProposalOrigin.RESTORED ? "Your earlier edits" : "Review";
  return (
    <header class="p-review-top">
      <IconButton
        icon={over ? "arrow-left" : "close"}
        label={over ? "Back to the conversation (Esc)" : "Close review (Esc)"}
        act={() => review.close()}
      />
      <h2 class="p-review-title">{title}</h2>
      <span class="p-review-facts p-soft">{countOf(files.length + unlisted, "file")}</span>
      <DiffCounts counts={counts} />
      <span class="p-review-tools">
        {proposal.canUndo && (
          <IconButton icon="discard" label="Undo last apply" act={() => void review.actions.undo(proposal)} />
        )}
        {view.canSplit.value && (
          <IconButton
            icon="split-horizontal"
            label="Side by side"
            pressed={view.split.value && view.roomy.value}
            act={() => toggleSides(view, listed)}
          />
        )}
        {files.length > 1 && (
          <>
            <IconButton
              icon="collapse-all"
              label="Collapse or expand all files"
              act={() => toggleAll(view)}
            />
            <IconButton
              icon="list-tree"
              label="File list"
              pressed={listed.value}
              act={() => (listed.value = !listed.value)}
            />
          </>
        )}
      </span>
    </header>
  );
}

/** Shows or hides both sides. If there is little room, they take that of the list of files. */
function toggleSides(view: ReviewView, listed: { value: boolean }): void {
  const shown = view.split.peek() && view.roomy.peek();
  view.split.value = !shown;
  if (shown || view.roomy.peek()) return;
  listed.value = false;
  view.narrow.value = true;
}

function toggleAll(view: ReviewView): void {
  view.toggleAll(!view.sections.peek().some((section) => section.isOpen));
}

/** Shows a file of the folder in the editor, where there is one. */
function opener({ openFile }: Gateway, workspace: string): ((path: string) => void) | undefined {
  return openFile && ((path) => openFile(path, undefined, workspace));
}
