// Highlighting and changed words of a line, computed when it is first shown.

import type { ColorRun } from "../../markdown/highlight";
import { highlighter, loadHighlighter } from "../../markdown/highlighter";
import type { PatchHunk, PatchLine } from "../../model/patch";
import { markWords, type WordSpan } from "../timeline/diff/word-diff";

/** So many lines are coloured in one go, as the beginning of a program. */
const BLOCK = 120;
const LONGEST_LINE = 1_000;
/** More of a line is not shown. */
export const LONGEST_SHOWN = 3_000;

/** Text of one colour that is marked as changed, or not. */
export interface Segment {
  readonly text: string;
  readonly color: string;
  readonly marked: boolean;
}

type Lines = readonly string[];

const blocks = new WeakMap<Lines, Map<string, readonly (readonly ColorRun[])[]>>();
const sides = new WeakMap<
  PatchHunk,
  { readonly old: Lines; readonly new: Lines; readonly at: Map<PatchLine, number> }
>();
const words = new WeakMap<
  PatchLine,
  WeakMap<PatchLine, readonly [readonly WordSpan[], readonly WordSpan[]]>
>();

/** The language of a file by its name; empty if there is none that can be coloured, or not yet. */
export function languageOfFile(path: string): string {
  const name = (path.split("/").at(-1) ?? "").toLowerCase();
  const ending = name.includes(".") ? (name.split(".").at(-1) ?? "") : name;
  const loaded = highlighter.value;
  if (loaded === undefined) void loadHighlighter();
  return loaded?.canHighlight(ending) === true ? ending : "";
}

/** A line of a hunk, with its words compared with those of the line it came from or became. */
export function segmentsOf(
  line: PatchLine,
  hunk: PatchHunk,
  mate: PatchLine | undefined,
  language: string,
): readonly Segment[] {
  const { old, new: fresh, at } = sidesOf(hunk);
  const source = line.sign === "removed" ? old : fresh;
  return joined(colorRuns(source, at.get(line) ?? 0, language), spansOf(line, mate));
}

/** A line of a whole file. */
export function plainSegments(source: Lines, index: number, language: string): readonly Segment[] {
  return joined(colorRuns(source, index, language), [{ text: source[index] ?? "", marked: false }]);
}

/** The beginning of a line, without its carriage return where that does not matter. */
export function shownOf(segments: readonly Segment[], endMatters: boolean): readonly Segment[] {
  const shown: Segment[] = [];
  let left = LONGEST_SHOWN;
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    const whole = isLast && !endMatters ? segment.text.replace(/\r$/, "") : segment.text;
    const text = whole.slice(0, left);
    left -= text.length;
    if (text !== "") shown.push({ ...segment, text });
  }
  return shown;
}

function sidesOf(hunk: PatchHunk) {
  const before = sides.get(hunk);
  if (before !== undefined) return before;
  const old: string[] = [];
  const fresh: string[] = [];
  const at = new Map<PatchLine, number>();
  for (const line of hunk.lines) {
    if (line.sign === "removed") at.set(line, old.length);
    else at.set(line, fresh.length);
    if (line.sign !== "added") old.push(line.text);
    if (line.sign !== "removed") fresh.push(line.text);
  }
  const found = { old, new: fresh, at };
  sides.set(hunk, found);
  return found;
}

function colorRuns(source: Lines, index: number, language: string): readonly ColorRun[] {
  const text = source[index] ?? "";
  if (language === "" || text.length > LONGEST_LINE) return [{ color: "", text }];
  const number = Math.floor(index / BLOCK);
  const known = blocks.get(source) ?? new Map<string, readonly (readonly ColorRun[])[]>();
  blocks.set(source, known);
  const key = `${language} ${number}`;
  const block = known.get(key) ?? colouredLines(source.slice(number * BLOCK, (number + 1) * BLOCK), language);
  known.set(key, block);
  return block[index - number * BLOCK] ?? [{ color: "", text }];
}

function colouredLines(lines: Lines, language: string): readonly (readonly ColorRun[])[] {
  const short = lines.map((line) => (line.length > LONGEST_LINE ? "" : line));
  const coloured: ColorRun[][] = [[]];
  const code = short.join("\n");
  const runs = highlighter.peek()?.highlight(code, language).runs ?? [{ color: "", text: code }];
  for (const { color, text } of runs) {
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) coloured.push([]);
      if (part !== "") coloured.at(-1)?.push({ color, text: part });
    }
  }
  return coloured;
}

function spansOf(line: PatchLine, mate: PatchLine | undefined): readonly WordSpan[] {
  const plain = [{ text: line.text, marked: false }];
  if (mate === undefined || mate === line || line.sign === "same") return plain;
  const [old, fresh] = line.sign === "removed" ? [line, mate] : [mate, line];
  const known =
    words.get(old) ?? new WeakMap<PatchLine, readonly [readonly WordSpan[], readonly WordSpan[]]>();
  words.set(old, known);
  let pair = known.get(fresh);
  if (pair === undefined) {
    const marked = markWords([old.text], [fresh.text]);
    pair = [marked.before[0] ?? plain, marked.after[0] ?? plain];
    known.set(fresh, pair);
  }
  return line.sign === "removed" ? pair[0] : pair[1];
}

/** Cuts both at each other's ends. Both have the same text. */
function joined(runs: readonly ColorRun[], spans: readonly WordSpan[]): readonly Segment[] {
  const segments: Segment[] = [];
  let run = 0;
  let used = 0;
  for (const span of spans) {
    for (let from = 0; from < span.text.length;) {
      const current = runs[run];
      const left = (current?.text.length ?? Infinity) - used;
      const end = Math.min(span.text.length, from + left);
      if (end > from) {
        const text = span.text.slice(from, end);
        segments.push({ text, color: current?.color ?? "", marked: span.marked });
      }
      used += end - from;
      from = end;
      if (current !== undefined && used >= current.text.length) {
        run += 1;
        used = 0;
      }
    }
  }
  return segments;
}
