// One row of the timeline, rendered again only when it has changed.

import { Component } from "preact";
import { tourOf } from "../../model/tour";
import type { Item, NoticeItem, ToolItem } from "../../model/types";
import {
  CONTINUED_FROM,
  CONTINUED_WITH,
  EndLine,
  ErrorCard,
  HandOffMark,
  MarkLine,
  NoticeLine,
  PermissionCard,
  QuestionCard,
} from "../cards";
import { CHANGED_OUTSIDE_REVIEW, OutsideChangesCard } from "../review/outside-changes-card";
import { ProposalCard } from "../review/proposal-card";
import type { RowContext } from "./row-context";
import type { ListView } from "./list-view";
import { PlanLine } from "./plan-line";
import { Prompt } from "./prompt";
import type { TimelineRow } from "./timeline-rows";
import { Answer, Thought } from "./speech";
import { Steps } from "./steps";
import { ToolCard } from "./tool-card";
import { TourCard } from "./tour-card";

interface RowViewProps {
  readonly row: TimelineRow;
  readonly view: ListView<TimelineRow>;
  readonly context: RowContext;
}

export class RowView extends Component<RowViewProps> {
  /** The view must know the row before the list is notified that the page has changed. */
  readonly #take = (element: HTMLElement | null): void => {
    this.props.view.setElement(this.props.row.key, element);
  };

  override shouldComponentUpdate(next: RowViewProps): boolean {
    return next.row !== this.props.row || next.context !== this.props.context;
  }

  override render({ row, context }: RowViewProps) {
    const kind = row.type === "item" ? row.item.type : "steps";
    return (
      <div
        ref={this.#take}
        class={`p-row p-row-${kind}`}
        data-key={row.key}
        tabIndex={kind === "prompt" ? -1 : undefined}
      >
        {row.type === "steps" ? (
          <Steps steps={row.steps} place={row.key} context={context} />
        ) : (
          <ItemView item={row.item} context={context} />
        )}
      </div>
    );
  }
}

function ItemView({ item, context }: { readonly item: Item; readonly context: RowContext }) {
  switch (item.type) {
    case "prompt":
      return <Prompt item={item} context={context} />;
    case "answer":
      return <Answer item={item} context={context} />;
    case "thought":
      return <Thought item={item} context={context} />;
    case "tool":
      return <ToolView item={item} context={context} />;
    case "plan":
      return <PlanLine item={item} context={context} />;
    case "permission":
      return <PermissionCard item={item} {...context} />;
    case "question":
      return <QuestionCard item={item} {...context} />;
    case "notice":
      return <NoticeView item={item} context={context} />;
    case "error":
      return <ErrorCard item={item} {...context} />;
    case "proposal":
      return <ProposalCard item={item} session={context.session} gateway={context.gateway} />;
    case "end":
      return <EndLine item={item} {...context} />;
    case "mark":
      return <MarkLine item={item} {...context} />;
  }
}

function ToolView({ item, context }: { readonly item: ToolItem; readonly context: RowContext }) {
  const tour = tourOf(item);
  if (tour === undefined) return <ToolCard item={item} context={context} />;
  return <TourCard item={item} tour={tour} context={context} />;
}

function NoticeView({ item, context }: { readonly item: NoticeItem; readonly context: RowContext }) {
  switch (item.notice.code) {
    case CHANGED_OUTSIDE_REVIEW:
      return <OutsideChangesCard item={item} {...context} />;
    case CONTINUED_FROM:
    case CONTINUED_WITH:
      return <HandOffMark item={item} {...context} />;
    default:
      return <NoticeLine item={item} {...context} />;
  }
}
