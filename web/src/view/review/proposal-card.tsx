// A proposal in the timeline: its files and actions; once settled, one line.

import { useComputed, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import {
  ProposalOrigin,
  ProposalStatus,
  type ProposalUpdated,
  type ProposedFile,
} from "../../generated/portico/v1/events_pb";
import { reviewOf, type Review } from "../../model/review";
import { countOf } from "../../model/review-actions";
import type { ProposalItem, SessionModel } from "../../model/types";
import { keptSignal } from "../cards/card";
import { DiffCounts } from "../timeline/diff-view";
import { Icon } from "../timeline/elements";
import { FileName, FileBadges } from "./file-head";
import { useFocusRetention } from "../focus-retention";
import { NoticeBar } from "./notice-bar";

/** More files are listed only in the review. */
const FEW_FILES = 8;

interface ProposalCardProps {
  readonly item: ProposalItem;
  readonly session: SessionModel;
  readonly gateway: Gateway;
}

export function ProposalCard({ item, session, gateway }: ProposalCardProps) {
  const review = reviewOf(session, gateway);
  const { proposal } = item;
  const part = useRef<HTMLDivElement>(null);
  useFocusRetention(part, (card) => {
    card.querySelector<HTMLElement>("button:enabled")?.focus({ preventScroll: true });
  });
  return (
    <div ref={part}>
      {proposal.status === ProposalStatus.OPEN ? (
        <OpenCard proposal={proposal} review={review} />
      ) : (
        <Settled item={item} session={session} review={review} />
      )}
    </div>
  );
}

function OpenCard({ proposal, review }: { readonly proposal: ProposalUpdated; readonly review: Review }) {
  const { files, unlisted, proposalId } = proposal;
  const counts = totalOf(files);
  const sure = useSignal(false);
  const isLookedAt = review.open.value === proposalId;
  const busy = review.actions.busy.value !== undefined;
  const rejected = useComputed(() => review.selectionOf(proposal).counts.rejected).value;
  const conflicts = files.filter((file) => file.conflict);
  const shown = files.slice(0, FEW_FILES);
  const more = files.length - shown.length + unlisted;
  const look = (path?: string): void => review.show(proposalId, path);
  const canApplyAll = conflicts.length === 0 && rejected === 0 && files.some((file) => !file.denied);
  return (
    <section
      class="p-proposal"
      role="group"
      aria-label={`Proposal: ${countOf(files.length + unlisted, "file")}`}
    >
      <div class="p-proposal-top">
        <Icon name="git-compare" />
        <span class="p-proposal-title">{titleOf(proposal)}</span>
        <DiffCounts counts={counts} />
      </div>
      <ul class="p-proposal-files" aria-label="Changed files">
        {shown.map((file) => (
          <li key={file.path}>
            <button type="button" class="p-proposal-file" onClick={() => look(file.path)}>
              <FileName file={file} />
              <FileBadges file={file} />
              <DiffCounts counts={file} />
            </button>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <button type="button" class="p-link-button p-proposal-more" onClick={() => look()}>
          and {countOf(more, "more file")}
        </button>
      )}
      {!isLookedAt && review.actions.last === proposalId && <NoticeBar notice={review.actions.notice} />}
      <div class="p-proposal-deeds">
        <button
          type="button"
          class="p-button p-button-main"
          onClick={() => look(conflicts[0]?.path)}
          disabled={isLookedAt}
        >
          {conflicts.length > 0 ? "Resolve conflicts" : rejected > 0 ? "Continue review" : "Review"}
        </button>
        {canApplyAll && (
          <button
            type="button"
            class="p-button"
            disabled={busy}
            onClick={() => void review.actions.apply(proposal)}
          >
            Apply all
          </button>
        )}
        <button
          type="button"
          class={`p-button${sure.value ? " p-button-bad" : ""}`}
          disabled={busy}
          onBlur={() => (sure.value = false)}
          onClick={() => (sure.peek() ? void review.actions.discard(proposal, []) : (sure.value = true))}
        >
          {sure.value ? "Confirm discard" : "Discard"}
        </button>
        {proposal.canUndo && (
          <button
            type="button"
            class="p-link-button p-proposal-undo"
            disabled={busy}
            onClick={() => void review.actions.undo(proposal)}
          >
            Undo last apply
          </button>
        )}
      </div>
    </section>
  );
}

interface SettledProps {
  readonly item: ProposalItem;
  readonly session: SessionModel;
  readonly review: Review;
}

/** An applied or discarded proposal is one line, which opens to its files. */
function Settled({ item, session, review }: SettledProps) {
  const { proposal, listed } = item;
  const open = keptSignal(session, `settled ${item.key}`, () => false);
  const isApplied = proposal.status === ProposalStatus.APPLIED;
  const files = listed.filter((file) => !isApplied || !file.denied);
  return (
    <section
      class="p-settled"
      role="group"
      aria-label={isApplied ? "Applied proposal" : "Discarded proposal"}
    >
      <div class="p-settled-line">
        <button
          type="button"
          class="p-fold"
          aria-expanded={open.value}
          onClick={() => (open.value = !open.value)}
        >
          <Icon name={open.value ? "chevron-down" : "chevron-right"} />
          <span class={isApplied ? "p-op p-settled-good" : "p-op p-soft"}>
            <Icon name={isApplied ? "check" : "circle-slash"} />
          </span>
          <span class="p-fold-title">
            {isApplied ? "Applied" : "Discarded"} {countOf(files.length, "file")}
          </span>
          <DiffCounts counts={totalOf(files)} />
        </button>
        {proposal.canUndo && (
          <button
            type="button"
            class="p-link-button"
            disabled={review.actions.busy.value !== undefined}
            onClick={() => void review.actions.undo(proposal)}
          >
            {isApplied ? "Undo" : "Undo last apply"}
          </button>
        )}
      </div>
      {open.value && (
        <ul class="p-proposal-files">
          {files.map((file) => (
            <li key={file.path} class="p-proposal-file">
              <FileName file={file} />
              <DiffCounts counts={file} />
            </li>
          ))}
        </ul>
      )}
      {review.actions.last === proposal.proposalId && review.actions.notice.value?.tone !== "good" && (
        <NoticeBar notice={review.actions.notice} />
      )}
    </section>
  );
}

function titleOf({ origin, files, unlisted }: ProposalUpdated): string {
  const count = countOf(files.length + unlisted, "file");
  if (origin === ProposalOrigin.RESTORED) return `Your own edits, set aside: ${count}`;
  return `Proposed: ${count}`;
}

export function totalOf(files: readonly ProposedFile[]): {
  readonly added: number;
  readonly removed: number;
} {
  return {
    added: files.reduce((sum, file) => sum + file.added, 0),
    removed: files.reduce((sum, file) => sum + file.removed, 0),
  };
}
