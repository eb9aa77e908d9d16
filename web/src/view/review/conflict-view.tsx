// A conflict: the user's and the agent's lines side by side, and which to keep.

import type { FileConflict } from "../../generated/portico/v1/agent_pb";
import { splitLines } from "../../model/patch";
import type { ConflictChoice } from "../../model/hunk-decisions";
import { plainSegments, shownOf, type Segment } from "./line-segments";

interface ConflictViewProps {
  readonly conflict: FileConflict;
  readonly path: string;
  readonly number: number;
  readonly count: number;
  readonly chosen: ConflictChoice | undefined;
  readonly language: string;
  readonly onChoose: (side: ConflictChoice) => void;
}

/** The sides of the whole file are chosen at its first conflict. */
export function ConflictView(props: ConflictViewProps) {
  const { conflict, path, number, count, chosen, language, onChoose } = props;
  const place = conflict.line > 0 ? ` at line ${conflict.line}` : "";
  const where = count === 1 ? `Conflict${place}` : `Conflict ${number + 1} of ${count}${place}`;
  return (
    <div class="p-rc" role="group" aria-label={`${where} of ${path}`}>
      <div class="p-rc-top">
        <span class="p-rc-where">{where}</span>
        {number === 0 && (
          <span class="p-rc-sides" role="group" aria-label={`Resolve conflicts in ${path}`}>
            <SideButton side="person" chosen={chosen} onChoose={onChoose} words="Keep mine" />
            <SideButton side="agent" chosen={chosen} onChoose={onChoose} words="Take theirs" />
          </span>
        )}
      </div>
      <div class="p-rc-both">
        <SideLines title="Yours" text={conflict.person} lost={chosen === "agent"} language={language} />
        <SideLines title="The agent's" text={conflict.agent} lost={chosen === "person"} language={language} />
      </div>
    </div>
  );
}

interface SideButtonProps {
  readonly side: ConflictChoice;
  readonly chosen: ConflictChoice | undefined;
  readonly words: string;
  readonly onChoose: (side: ConflictChoice) => void;
}

function SideButton({ side, chosen, words, onChoose }: SideButtonProps) {
  return (
    <button type="button" class="p-rc-side" aria-pressed={chosen === side} onClick={() => onChoose(side)}>
      {words}
    </button>
  );
}

interface SideLinesProps {
  readonly title: string;
  readonly text: string | undefined;
  readonly lost: boolean;
  readonly language: string;
}

function SideLines({ title, text, lost, language }: SideLinesProps) {
  const lines = splitLines(text ?? "");
  return (
    <div class={`p-rc-lines${lost ? " p-rc-lost" : ""}`}>
      <div class="p-rc-title">
        {title}
        {lost && <span class="p-soft"> · discarded</span>}
      </div>
      {text === undefined && <p class="p-rc-none p-soft">The file is deleted.</p>}
      {text !== undefined && lines.length === 0 && <p class="p-rc-none p-soft">No lines.</p>}
      {lines.map((_, index) => (
        <code key={index} class="p-rc-line">
          {shownOf(plainSegments(lines, index, language), false).map(coloured)}
        </code>
      ))}
    </div>
  );
}

function coloured({ text, color }: Segment, index: number) {
  return color === "" ? (
    text
  ) : (
    <span key={index} class={color}>
      {text}
    </span>
  );
}
