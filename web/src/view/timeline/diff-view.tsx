// Diff of one file in the timeline.

import { useMemo } from "preact/hooks";
import type { DiffPart } from "../../generated/portico/v1/events_pb";
import { keptOpen, type RowContext } from "./row-context";
import { formatCounts, type DiffLine } from "./diff/file-diff";
import { FileLink } from "./content-blocks";
import { CopyIcon } from "./elements";
import { diffOf } from "./tool-state";

/** A change with more lines waits until the reader asks for it. */
const MANY_LINES = 120;
/** And then comes in portions of so many. */
const PORTION = 2_000;
/** Lines are grouped, so that the browser lays out only visible ones. */
const LINES_IN_PART = 50;

interface DiffViewProps {
  readonly part: DiffPart;
  /** Names this change in its session. */
  readonly place: string;
  readonly context: RowContext;
}

export function DiffView({ part, place, context }: DiffViewProps) {
  const diff = diffOf(part);
  const chosen = keptOpen(context.session, `diff ${place}`);
  const lines = useMemo(() => linesOf(part), [part]);
  const isLong = lines.length > MANY_LINES;
  const open = chosen.value ?? !isLong;
  return (
    <div
      class={diff.isNew ? "p-diff p-diff-new" : "p-diff"}
      role="group"
      aria-label={`Change of ${part.path}`}
    >
      <div class="p-diff-head">
        <FileLink path={part.path} context={context} />
        {diff.isNew && <span class="p-label">new file</span>}
        <DiffCounts counts={diff} />
        <CopyIcon label="Copy new text" text={() => part.newText} />
      </div>
      {!open && (
        <button type="button" class="p-link-button p-diff-more" onClick={() => (chosen.value = true)}>
          Show {formatCounts(diff)} lines
        </button>
      )}
      {open && <Lines lines={lines} place={place} context={context} />}
      {diff.endNote !== "" && <div class="p-diff-note">{diff.endNote}</div>}
    </div>
  );
}

/** For a place on a line: "+12 −3". */
export function DiffCounts({
  counts,
}: {
  readonly counts: { readonly added: number; readonly removed: number };
}) {
  const { added, removed } = counts;
  return (
    <span class="p-counts">
      {added > 0 && <span class="p-counts-added">+{added}</span>}
      {removed > 0 && <span class="p-counts-removed">−{removed}</span>}
      <span class="p-aloud">
        {added} added, {removed} removed
      </span>
    </span>
  );
}

type Shown = DiffLine | { readonly skipped: number };

function linesOf(part: DiffPart): readonly Shown[] {
  const { hunks, skippedAtEnd } = diffOf(part);
  const lines: Shown[] = [];
  for (const hunk of hunks) {
    if (hunk.skipped > 0) lines.push({ skipped: hunk.skipped });
    for (const line of hunk.lines) lines.push(line);
  }
  if (skippedAtEnd > 0 && hunks.length > 0) lines.push({ skipped: skippedAtEnd });
  return lines;
}

function Lines({ lines, place, context }: { lines: readonly Shown[]; place: string; context: RowContext }) {
  const all = keptOpen(context.session, `all of ${place}`);
  const shown = all.value === true ? lines : lines.slice(0, PORTION);
  const parts = Array.from({ length: Math.ceil(shown.length / LINES_IN_PART) }, (_, index) =>
    shown.slice(index * LINES_IN_PART, (index + 1) * LINES_IN_PART),
  );
  return (
    <div class="p-diff-lines" tabIndex={0} role="group" aria-label="Changed lines">
      <div class="p-diff-width">
        {parts.map((part, index) => (
          <div key={index} class="p-diff-part">
            {part.map((line, at) => (
              <Line key={at} line={line} />
            ))}
          </div>
        ))}
        {shown.length < lines.length && (
          <button type="button" class="p-link-button p-diff-more" onClick={() => (all.value = true)}>
            Show all {lines.length.toLocaleString("en")} lines
          </button>
        )}
      </div>
    </div>
  );
}

const SIGNS = { same: " ", added: "+", removed: "−" } as const;

function Line({ line }: { readonly line: Shown }) {
  if ("skipped" in line) {
    return (
      <div class="p-diff-skipped">
        {line.skipped} {line.skipped === 1 ? "line" : "lines"}
      </div>
    );
  }
  return (
    <div class={`p-diff-line p-diff-${line.sign}`}>
      <span class="p-diff-number" data-number={line.oldNumber ?? ""} />
      <span class="p-diff-number" data-number={line.newNumber ?? ""} />
      <span class="p-diff-sign">{SIGNS[line.sign]}</span>
      <span class="p-diff-text">
        {line.spans.map((span, index) => (span.marked ? <mark key={index}>{span.text}</mark> : span.text))}
      </span>
    </div>
  );
}
