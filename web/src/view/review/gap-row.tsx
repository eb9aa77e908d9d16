// Hidden unchanged lines, shown on request.

import { Icon } from "../timeline/elements";
import type { ReviewView } from "./review-view";
import type { HiddenLines } from "./diff-rows";

const PORTION = 20;

export function GapRow({
  gap,
  path,
  view,
}: {
  readonly gap: HiddenLines;
  readonly path: string;
  readonly view: ReviewView;
}) {
  const { lines, hasAbove, hasBelow } = gap;
  const few = lines !== undefined && lines <= PORTION;
  const words =
    lines === undefined ? "Show more" : `${lines.toLocaleString("en")} ${lines === 1 ? "line" : "lines"}`;
  const reveal = (which: "above" | "below" | "all"): void => void view.reveal(path, gap, which);
  if (view.source.contents() === undefined) return <div class="p-rg p-rg-still">{words}</div>;
  return (
    <div class="p-rg">
      {hasAbove && !few && (
        <GapButton icon="fold-down" label={`Show ${PORTION} more lines below`} act={() => reveal("above")} />
      )}
      {hasBelow && !few && (
        <GapButton icon="fold-up" label={`Show ${PORTION} more lines above`} act={() => reveal("below")} />
      )}
      <button type="button" class="p-rg-all" onClick={() => reveal(lines === undefined ? "above" : "all")}>
        {few && <Icon name="unfold" />}
        {words}
      </button>
    </div>
  );
}

function GapButton({ icon, label, act }: { icon: string; label: string; act: () => void }) {
  return (
    <button type="button" class="p-rg-button" title={label} aria-label={label} onClick={act}>
      <Icon name={icon} />
    </button>
  );
}
