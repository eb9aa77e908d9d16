// One line of a diff, or two side by side: numbers, sign, and the text with its colours and changed words.

import { visiblePieces } from "../../markdown/direction-controls";
import type { PatchHunk, PatchLine } from "../../model/patch";
import { LONGEST_SHOWN, plainSegments, segmentsOf, shownOf, type Segment } from "./line-segments";
import type { LinePair } from "./line-pairs";

const SIGNS = { same: " ", added: "+", removed: "−" } as const;
const ALOUD = { same: "", added: "added: ", removed: "removed: " } as const;

interface LineProps {
  readonly line: PatchLine;
  readonly mate: PatchLine | undefined;
  readonly hunk: PatchHunk;
  readonly language: string;
}

export function Line({ line, mate, hunk, language }: LineProps) {
  return (
    <div class={`p-rl p-rl-${line.sign}`}>
      <Number at={line.old} />
      <Number at={line.new} />
      <Sign sign={line.sign} />
      <Text segments={segmentsOf(line, hunk, mate, language)} line={line} mate={mate} />
    </div>
  );
}

export function PairLine({ pair, hunk, language }: { pair: LinePair; hunk: PatchHunk; language: string }) {
  return (
    <div class="p-rl-pair">
      <Half line={pair.old} mate={pair.new} hunk={hunk} language={language} side="old" />
      <Half line={pair.new} mate={pair.old} hunk={hunk} language={language} side="new" />
    </div>
  );
}

interface HalfProps {
  readonly line: PatchLine | undefined;
  readonly mate: PatchLine | undefined;
  readonly hunk: PatchHunk;
  readonly language: string;
  readonly side: "old" | "new";
}

function Half({ line, mate, hunk, language, side }: HalfProps) {
  if (line === undefined) return <div class="p-rl p-rl-none" />;
  return (
    <div class={`p-rl p-rl-${line.sign}`}>
      <Number at={side === "old" ? line.old : line.new} />
      <Sign sign={line.sign} />
      <Text segments={segmentsOf(line, hunk, mate, language)} line={line} mate={mate} />
    </div>
  );
}

interface AroundProps {
  readonly source: readonly string[];
  readonly old: number;
  readonly fresh: number;
  readonly language: string;
  readonly split: boolean;
}

/** An unchanged line, shown on request. */
export function AroundLine({ source, old, fresh, language, split }: AroundProps) {
  const text = <Pieces segments={shownOf(plainSegments(source, fresh - 1, language), false)} />;
  if (split) {
    return (
      <div class="p-rl-pair">
        {[old, fresh].map((number, side) => (
          <div key={side} class="p-rl p-rl-same">
            <Number at={number} />
            <Sign sign="same" />
            <code class="p-rl-text">{text}</code>
          </div>
        ))}
      </div>
    );
  }
  return (
    <div class="p-rl p-rl-same">
      <Number at={old} />
      <Number at={fresh} />
      <Sign sign="same" />
      <code class="p-rl-text">{text}</code>
    </div>
  );
}

function Number({ at }: { readonly at: number | undefined }) {
  return <span class="p-rl-number" data-number={at ?? ""} />;
}

function Sign({ sign }: { readonly sign: PatchLine["sign"] }) {
  return (
    <>
      <span class="p-rl-sign" data-sign={SIGNS[sign]} aria-hidden="true" />
      {sign !== "same" && <span class="p-aloud">{ALOUD[sign]}</span>}
    </>
  );
}

interface TextProps {
  readonly segments: readonly Segment[];
  readonly line: PatchLine;
  readonly mate: PatchLine | undefined;
}

function Text({ segments, line, mate }: TextProps) {
  const endMatters = mate !== undefined && mate.text.endsWith("\r") !== line.text.endsWith("\r");
  const more = line.text.length - LONGEST_SHOWN;
  return (
    <code class="p-rl-text">
      <Pieces segments={shownOf(segments, endMatters)} />
      {more > 0 && <span class="p-rl-note">{more.toLocaleString("en")} more characters</span>}
      {line.unended && line.sign !== "same" && <span class="p-rl-note">no newline at end of file</span>}
    </code>
  );
}

function Pieces({ segments }: { readonly segments: readonly Segment[] }) {
  return (
    <>
      {segments.map(({ text, color, marked }, index) => {
        const shown = visible(text);
        const coloured =
          color === "" ? (
            shown
          ) : (
            <span key={index} class={color}>
              {shown}
            </span>
          );
        return marked ? <mark key={index}>{coloured}</mark> : coloured;
      })}
    </>
  );
}

/** Names invisible characters that may change what a program does. */
function visible(text: string) {
  return visiblePieces(text.replaceAll("\r", "␍")).map((piece, index) =>
    "text" in piece ? (
      piece.text
    ) : (
      <span key={index} class="control-mark">
        {piece.control}
      </span>
    ),
  );
}
