// One tool call: a line with its state that opens to its body.

import { PermissionScope, ToolStatus } from "../../generated/portico/v1/events_pb";
import type { PermissionItem, ToolItem } from "../../model/types";
import { decisionLabel, kindIcon, kindLabel, shortTitle } from "../cards/permission-labels";
import { keptOpen, type RowContext } from "./row-context";
import { DiffCounts } from "./diff-view";
import { formatDuration } from "./duration";
import { Icon } from "./elements";
import { useElapsed } from "./elapsed-time";
import { ProblemCounts } from "./problem-list";
import { ToolBody } from "./tool-body";
import { hasBody, isOpenAtFirst, stateOf, stateLabel, totalDiff, type ToolState } from "./tool-state";

const STATE_ICONS: Readonly<Record<ToolState, string>> = {
  waiting: "ellipsis",
  running: "loading",
  done: "check",
  failed: "error",
  left: "circle-slash",
};

export function ToolCard({ item, context }: { readonly item: ToolItem; readonly context: RowContext }) {
  const chosen = keptOpen(context.session, item.key);
  const state = stateOf(item);
  const full = hasBody(item);
  const open = full && (chosen.value ?? isOpenAtFirst(item));
  const counts = totalDiff(item);
  const title = item.title || item.name;
  return (
    <section class={`p-tool p-tool-${state}`}>
      <button
        type="button"
        class="p-fold"
        aria-expanded={full ? open : undefined}
        disabled={!full}
        title={title}
        onClick={() => (chosen.value = !open)}
      >
        <Icon name={kindIcon(item.kind)} />
        <span class="p-aloud">{kindLabel(item.kind)}</span>
        <span class="p-fold-title">{shortTitle(title, context.workspace)}</span>
        {item.readOnly && <span class="p-tool-mark">read-only</span>}
        <DecisionMark permission={item.permission} />
        {counts !== undefined && <DiffCounts counts={counts} />}
        <ProblemCounts files={item.problems} />
        <Duration item={item} />
        <span class={`p-tool-state p-tool-state-${state}`} title={stateLabel(state)}>
          <Icon name={STATE_ICONS[state]} spinning={state === "running"} />
          <span class="p-aloud">{stateLabel(state)}</span>
        </span>
      </button>
      {open && <ToolBody item={item} context={context} />}
    </section>
  );
}

function DecisionMark({ permission }: { readonly permission: PermissionItem | undefined }) {
  const { request, resolved } = permission ?? {};
  if (request === undefined || resolved === undefined) return null;
  const { outcome, by } = decisionLabel(request, resolved);
  const kept = resolved.scope > PermissionScope.ONCE ? `, covers ${resolved.rule || request.rule}` : "";
  return (
    <span class="p-tool-mark" title={`${outcome} ${by}${kept}`}>
      {outcome} {by}
    </span>
  );
}

function Duration({ item }: { readonly item: ToolItem }) {
  const runs = item.status === ToolStatus.IN_PROGRESS && !item.abandoned && !item.partial;
  const elapsed = useElapsed(runs ? item.at : undefined);
  const words = runs ? elapsed : formatDuration(item.durationMs ?? 0);
  return words === "" ? null : <span class="p-fold-time">{words}</span>;
}
