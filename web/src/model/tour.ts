// Tours: explanations at places in the code, as a tool call has them in its output, and as CodeTour files.

import { asRecord, parseJson } from "./json";
import type { ToolItem } from "./types";

export interface TourStep {
  readonly path: string;
  readonly text: string;
  /** Counts from one; zero where the place was not found, and `problem` says why. */
  readonly line: number;
  readonly symbol: string;
  /** Lines of the file as they were when the tour was made, from the line of that number on. */
  readonly excerpt: { readonly line: number; readonly text: string } | undefined;
  readonly problem: string;
}

export interface Tour {
  readonly title: string;
  readonly steps: readonly TourStep[];
}

const known = new WeakMap<ToolItem, { readonly tour: Tour | undefined }>();

/** The tour that a tool call presents, read once; undefined for any other call. */
export function tourOf(item: ToolItem): Tour | undefined {
  const found = known.get(item) ?? { tour: readTour(item.outputJson) };
  known.set(item, found);
  return found.tour;
}

/** Undefined for the output of other tools. */
export function readTour(outputJson: string | undefined): Tour | undefined {
  if (outputJson?.includes('"tour"') !== true) return undefined;
  const { title, steps } = asRecord(asRecord(parseJson(outputJson))["tour"]);
  if (typeof title !== "string" || !Array.isArray(steps) || steps.length === 0) return undefined;
  return { title, steps: steps.map(readStep) };
}

function readStep(given: unknown): TourStep {
  const step = asRecord(given);
  const excerpt = asRecord(step["excerpt"]);
  return {
    path: textOf(step["path"]),
    text: textOf(step["text"]),
    line: numberOf(step["line"]),
    symbol: textOf(step["symbol"]),
    excerpt:
      typeof excerpt["text"] === "string"
        ? { line: numberOf(excerpt["line"]), text: excerpt["text"] }
        : undefined,
    problem: textOf(step["problem"]),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** The text of the line that a step is about, without indentation; empty if it is not known. */
export function anchorOf({ line, excerpt }: TourStep): string {
  return (excerpt?.text.split("\n")[line - excerpt.line] ?? "").trim();
}

/**
 * The line of a step in the text of today, counting from one. Where lines have moved it is the nearest one with the
 * same text, else the nearest that names the symbol; undefined if neither is there.
 */
export function findLine(lines: readonly string[], step: TourStep): number | undefined {
  const anchor = anchorOf(step);
  const name = step.symbol.split(/[.:#]+/).at(-1) ?? "";
  const same = nearest(lines, step.line, (text) => anchor !== "" && text.trim() === anchor);
  if (same !== undefined || (anchor === "" && step.line <= lines.length)) return same ?? step.line;
  return name === "" ? undefined : nearest(lines, step.line, (text) => hasWord(text, name));
}

function nearest(
  lines: readonly string[],
  line: number,
  fits: (text: string) => boolean,
): number | undefined {
  let best: number | undefined;
  for (const [index, text] of lines.entries()) {
    const isNearer = best === undefined || Math.abs(index + 1 - line) < Math.abs(best - line);
    if (isNearer && fits(text)) best = index + 1;
  }
  return best;
}

function hasWord(text: string, name: string): boolean {
  const index = text.indexOf(name);
  if (index < 0) return false;
  return !/[\w$]/.test(text[index - 1] ?? "") && !/[\w$]/.test(text[index + name.length] ?? "");
}

/** The name under which a tour is kept in the folder of a session. */
export function tourFileName({ title }: Tour): string {
  const words = title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return `.tours/${words.slice(0, 60).replace(/^-+|-+$/g, "") || "tour"}.tour`;
}

/** The text of a CodeTour file. A place that has a symbol is found by its line's text, wherever it has moved. */
export function codeTour({ title, steps }: Tour): string {
  const document = {
    $schema: "https://aka.ms/codetour-schema",
    title,
    steps: steps.map((step) => ({ file: step.path, ...placeOf(step), description: step.text })),
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function placeOf(step: TourStep): { pattern: string } | { line: number } | Record<string, never> {
  const anchor = anchorOf(step);
  if (step.symbol !== "" && anchor !== "")
    return { pattern: `^[^\\S\\n]*${anchor.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}` };
  return step.line > 0 ? { line: step.line } : {};
}
