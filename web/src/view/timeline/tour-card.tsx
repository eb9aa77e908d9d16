// A tour of the agent: one step at a time, with the code at its place and the way to the others.

import { useComputed, type Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { ProposalStatus } from "../../generated/portico/v1/events_pb";
import { reviewOf } from "../../model/review";
import { codeTour, tourFileName, type Tour, type TourStep } from "../../model/tour";
import type { Item, ToolItem } from "../../model/types";
import { keptSignal } from "../cards/card";
import { FileLink } from "./content-blocks";
import { Icon, IconButton, Markdown } from "./elements";
import type { RowContext } from "./row-context";

interface TourCardProps {
  readonly item: ToolItem;
  readonly tour: Tour;
  readonly context: RowContext;
}

export function TourCard({ item, tour, context }: TourCardProps) {
  const { gateway, session, workspace } = context;
  const place = keptSignal(session, `tour ${item.key}`, () => 0);
  const card = useRef<HTMLElement>(null);
  const last = tour.steps.length - 1;
  const shown = Math.min(place.value, last);
  const step = tour.steps[shown];
  const go = (index: number): void => {
    const next = Math.min(Math.max(index, 0), last);
    place.value = next;
    gateway.showTour?.(session.id, item.toolId, next);
  };
  if (step === undefined) return null;
  return (
    <section
      ref={card}
      class="p-tour"
      role="group"
      aria-label={`Tour: ${tour.title}`}
      tabIndex={-1}
      onKeyDown={(event) => onTourKey(event, place, last, go)}
    >
      <div class="p-tour-head">
        <Icon name="milestone" />
        <span class="p-tour-title">{tour.title}</span>
        <IconButton
          icon="save"
          label="Save as CodeTour file"
          act={() => gateway.save(tourFileName(tour), codeTour(tour), workspace)}
        />
      </div>
      <div class="p-tour-step" aria-live="polite">
        <Place step={step} context={context} open={gateway.showTour && (() => go(shown))} />
        {step.problem !== "" && <p class="p-tour-problem">{step.problem}</p>}
        <Excerpt step={step} />
        <Markdown text={step.text} open={false} context={context} />
      </div>
      <div class="p-tour-ways">
        <button type="button" class="p-button" disabled={shown === 0} onClick={() => go(shown - 1)}>
          Back
        </button>
        <ol class="p-tour-steps" aria-label="Steps">
          {tour.steps.map((one, index) => (
            <li key={index}>
              <button
                type="button"
                class={one.problem === "" ? "p-tour-jump" : "p-tour-jump p-tour-lost"}
                aria-label={`Step ${index + 1} of ${last + 1}: ${labelOf(one)}`}
                aria-current={index === shown ? "step" : undefined}
                title={labelOf(one)}
                onClick={() => go(index)}
              >
                {index + 1}
              </button>
            </li>
          ))}
        </ol>
        <button
          type="button"
          class="p-button p-button-main"
          disabled={shown === last}
          onClick={() => go(shown + 1)}
        >
          Next
        </button>
      </div>
    </section>
  );
}

function labelOf({ path, line, symbol }: TourStep): string {
  return `${path}${line > 0 ? `:${line}` : ""}${symbol === "" ? "" : ` (${symbol})`}`;
}

/** Arrows, Home, End and digits go to steps while the card has the focus. */
function onTourKey(
  event: KeyboardEvent,
  place: Signal<number>,
  last: number,
  go: (index: number) => void,
): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const wanted = stepOfKey(event.key, place.peek(), last);
  if (wanted === undefined) return;
  event.preventDefault();
  go(wanted);
}

export function stepOfKey(key: string, now: number, last: number): number | undefined {
  switch (key) {
    case "ArrowRight":
      return now + 1;
    case "ArrowLeft":
      return now - 1;
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return /^[1-9]$/.test(key) && Number(key) <= last + 1 ? Number(key) - 1 : undefined;
  }
}

interface PlaceProps {
  readonly step: TourStep;
  readonly context: RowContext;
  /** Shows the place in the editor around the page. */
  readonly open: (() => void) | undefined;
}

/** The file and line. A file that an open proposal changes is shown in the review, with the text that is proposed. */
function Place({ step, context, open }: PlaceProps) {
  const { session, gateway } = context;
  const proposalId = useComputed(() => proposalWith(session.items.value, step.path)).value;
  if (open !== undefined && step.line > 0)
    return (
      <button type="button" class="p-link-button p-file" title={`Open ${labelOf(step)}`} onClick={open}>
        <Icon name="file" />
        <span class="p-file-name">{labelOf(step)}</span>
      </button>
    );
  return (
    <div class="p-tour-place">
      <FileLink path={step.path} line={step.line} context={context} />
      {step.symbol !== "" && <span class="p-soft">{step.symbol}</span>}
      {proposalId !== undefined && (
        <button
          type="button"
          class="p-link-button"
          onClick={() => reviewOf(session, gateway).show(proposalId, step.path)}
        >
          Show in review
        </button>
      )}
    </div>
  );
}

function proposalWith(items: readonly Item[], path: string): string | undefined {
  const found = items.findLast(
    (item) =>
      item.type === "proposal" &&
      item.proposal.status === ProposalStatus.OPEN &&
      item.proposal.files.some((file) => file.path === path),
  );
  return found?.type === "proposal" ? found.proposal.proposalId : undefined;
}

function Excerpt({ step: { excerpt, line } }: { readonly step: TourStep }) {
  if (excerpt === undefined) return null;
  return (
    <pre class="p-tour-code" tabIndex={0} aria-label="Code">
      {excerpt.text.split("\n").map((text, index) => {
        const number = excerpt.line + index;
        return (
          <div key={index} class={number === line ? "p-tour-line p-tour-here" : "p-tour-line"}>
            <span class="p-tour-number" data-number={number} />
            <code>{text === "" ? " " : text}</code>
          </div>
        );
      })}
    </pre>
  );
}
