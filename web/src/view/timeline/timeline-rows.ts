// Rows of the timeline. Consecutive finished tool calls fold into one row.

import { PermissionOutcome, ToolStatus } from "../../generated/portico/v1/events_pb";
import { tourOf } from "../../model/tour";
import type { Item, PermissionItem, ThoughtItem, ToolItem } from "../../model/types";

export type TimelineStep = ToolItem | ThoughtItem;

export interface ItemRow {
  readonly type: "item";
  readonly key: string;
  readonly guess: number;
  readonly item: Item;
}

export interface StepsRow {
  readonly type: "steps";
  readonly key: string;
  readonly guess: number;
  /** Begins and ends with a tool call. */
  readonly steps: readonly TimelineStep[];
}

export type TimelineRow = ItemRow | StepsRow;

export interface RowOptions {
  /** Thoughts are shown with their words, so they never fold. */
  readonly showThinking: boolean;
  /** The plan that is shown elsewhere. */
  readonly pinnedPlan: string | undefined;
}

/** Two lines need no folding. */
const FEWEST_TOOLS = 3;
const STEPS_GUESS = 30;

/** Keeps rows that did not change as they are, and the keys of folded ones while they grow at either end. */
export class RowFold {
  #rows = new Map<string, TimelineRow>();
  /** The key of the row that each folded step is in. */
  #keys = new Map<string, string>();

  fold(items: readonly Item[], options: RowOptions): readonly TimelineRow[] {
    const shown = withPermissions(
      items.filter((item) => item.type !== "plan" || item.key !== options.pinnedPlan),
    );
    const rows: TimelineRow[] = [];
    const keys = new Map<string, string>();
    const used = new Set<string>();
    for (let from = 0; from < shown.length;) {
      const end = endOfSteps(shown, from, options);
      const steps = shown.slice(from, end) as TimelineStep[];
      if (steps.filter(isTool).length >= FEWEST_TOOLS) {
        const row = this.#stepsRow(steps, used);
        for (const step of steps) keys.set(step.key, row.key);
        used.add(row.key);
        rows.push(row);
        from = end;
      } else {
        const item = shown[from];
        if (item !== undefined) rows.push(this.#itemRow(item));
        from += 1;
      }
    }
    this.#rows = new Map(rows.map((row) => [row.key, row]));
    this.#keys = keys;
    return rows;
  }

  #itemRow(item: Item): TimelineRow {
    const before = this.#rows.get(item.key);
    if (before?.type === "item" && before.item === item) return before;
    return { type: "item", key: item.key, guess: guessHeight(item), item };
  }

  #stepsRow(steps: readonly TimelineStep[], used: ReadonlySet<string>): StepsRow {
    const known = steps
      .map((step) => this.#keys.get(step.key))
      .find((key) => key !== undefined && !used.has(key));
    const key = known ?? steps[0]?.key ?? "";
    const before = this.#rows.get(key);
    const same =
      before?.type === "steps" &&
      before.steps.length === steps.length &&
      before.steps.every((step, index) => step === steps[index]);
    return same ? before : { type: "steps", key, guess: STEPS_GUESS, steps };
  }
}

/** Maximum distance of a request from its tool call, in items. */
const NEAR = 12;
const permitted = new WeakMap<PermissionItem, { readonly tool: ToolItem; readonly item: ToolItem }>();

/** Tool calls with the requests that allowed them in place of both. */
function withPermissions(items: readonly Item[]): readonly Item[] {
  let shown: Item[] | undefined;
  const merged = new Set<Item>();
  items.forEach((item, place) => {
    if (item.type !== "permission" || item.resolved?.outcome !== PermissionOutcome.ALLOWED) return;
    const from = Math.max(0, place - NEAR);
    const near = items.slice(from, place + NEAR);
    const offset = near.findIndex((one) => one.type === "tool" && isAbout(item, one));
    const tool = near[offset];
    if (tool?.type !== "tool") return;
    shown ??= [...items];
    shown[from + offset] = withPermission(tool, item);
    merged.add(item);
  });
  return shown?.filter((item) => !merged.has(item)) ?? items;
}

function isAbout({ request, turnId }: PermissionItem, tool: ToolItem): boolean {
  return tool.toolId === request.toolId && tool.turnId === turnId;
}

/** The same object as long as both are the same. */
function withPermission(tool: ToolItem, permission: PermissionItem): ToolItem {
  const known = permitted.get(permission);
  if (known?.tool === tool) return known.item;
  const item = { ...tool, permission };
  permitted.set(permission, { tool, item });
  return item;
}

/** The items that a row stands for. */
export function itemsOf(row: TimelineRow): readonly Item[] {
  return row.type === "item" ? [row.item] : row.steps;
}

function isTool(item: Item): item is ToolItem {
  return item.type === "tool";
}

/** End of the run of finished tool calls from an item on, with the thoughts between them. Tours are not folded. */
function endOfSteps(items: readonly Item[], from: number, { showThinking }: RowOptions): number {
  let end = from;
  for (let index = from; index < items.length; index += 1) {
    const item = items[index];
    if (item?.type === "tool" && item.status === ToolStatus.COMPLETED && tourOf(item) === undefined)
      end = index + 1;
    else if (index === from || item?.type !== "thought" || item.open || showThinking) break;
  }
  return end;
}

const LINE = 20;
const LETTERS_IN_LINE = 70;
const LONGEST_PROMPT = 13;

export function guessHeight(item: Item): number {
  switch (item.type) {
    case "prompt":
      return 44 + LINE * Math.min(LONGEST_PROMPT, linesOf(item.text));
    case "answer":
      return 12 + LINE * linesOf(item.text);
    case "permission":
    case "question":
      return 80;
    case "proposal":
      return 92 + 26 * Math.min(8, item.proposal.files.length);
    case "error":
      return 90;
    case "notice":
      return item.notice.code === "" ? 30 : 150;
    case "tool":
      return tourOf(item) === undefined ? 30 : 320;
    case "thought":
    case "plan":
    case "end":
    case "mark":
      return 30;
  }
}

function linesOf(text: string): number {
  return Math.max(1, Math.round(text.length / LETTERS_IN_LINE));
}
