// Head of a file in a review: operation, counts, and a box that selects all of it.

import type { ProposedFile } from "../../generated/portico/v1/events_pb";
import { decidableFile } from "../../model/review-selection";
import { DiffCounts } from "../timeline/diff-view";
import { Icon, IconButton } from "../timeline/elements";
import { ProblemCounts } from "../timeline/problem-list";
import type { ReviewView, ReviewStop } from "./review-view";
import type { FileSection } from "./diff-rows";
import { ChoiceBox } from "./choice-box";
import { fileBadges, operationLabel, pathParts } from "./review-labels";

interface FileHeadProps {
  readonly section: FileSection;
  readonly view: ReviewView;
  readonly openFile: ((path: string) => void) | undefined;
}

export function FileHead({ section, view, openFile }: FileHeadProps) {
  const { file, isOpen } = section;
  const decisions = view.source.decisions();
  const problems = view.source.problems?.(file.path);
  const stop = view.stops.value.find((one) => one.key === section.key);
  const isCurrent = stop !== undefined && view.cursor.value === stop.key;
  return (
    <header
      ref={(element) => view.scroller.setElement(section.key, element)}
      class={`p-rf-head${isCurrent ? " p-rf-current" : ""}`}
      onFocusIn={() => stop !== undefined && (view.cursor.value = stop.key)}
      onClick={() => view.chooseFile(file.path)}
    >
      <button
        type="button"
        class="p-rf-fold"
        aria-expanded={isOpen}
        aria-label={`${isOpen ? "Collapse" : "Expand"} ${file.path}`}
        onClick={() => view.toggle(file.path, !isOpen)}
      >
        <Icon name={isOpen ? "chevron-down" : "chevron-right"} />
      </button>
      {decisions !== undefined && <FileBox file={file} view={view} section={section} stop={stop} />}
      <FileName file={file} />
      <FileBadges file={file} />
      {problems !== undefined && <ProblemCounts files={[problems]} />}
      <DiffCounts counts={file} />
      {openFile !== undefined && (
        <IconButton icon="go-to-file" label={`Open ${file.path}`} act={() => openFile(file.path)} />
      )}
    </header>
  );
}

interface FileBoxProps {
  readonly file: ProposedFile;
  readonly view: ReviewView;
  readonly section: FileSection;
  readonly stop: ReviewStop | undefined;
}

function FileBox({ file, view, section, stop }: FileBoxProps) {
  const decisions = view.source.decisions();
  if (decisions === undefined) return null;
  const known = section.patch.hunks.flatMap((hunk) => (hunk.id === "" ? [] : [hunk.id]));
  const whole = known.length === 0 ? decidableFile(file, []) : { path: file.path, hunkIds: known };
  const taken = whole.hunkIds.filter((id) => decisions.of(file.path, id) !== false).length;
  const chosen = taken === whole.hunkIds.length ? true : taken === 0 ? false : "some";
  const isStop = stop !== undefined;
  return (
    <ChoiceBox
      label={file.denied ? `${file.path} is protected` : `Apply ${file.path}`}
      chosen={file.denied ? false : chosen}
      disabled={file.denied}
      isStop={isStop}
      onChoose={(on) => decisions.decide(whole, on)}
    />
  );
}

export function FileName({ file }: { readonly file: ProposedFile }) {
  const { icon, word, tone } = operationLabel(file.operation);
  const { folder, name } = pathParts(file.path);
  const title = file.oldPath === "" ? file.path : `${file.oldPath} → ${file.path}`;
  return (
    <span class="p-rf-name" title={title}>
      <span class={`p-op p-op-${tone}`}>
        <Icon name={icon} />
        <span class="p-aloud">{word}</span>
      </span>
      <span class="p-rf-path">
        <span class="p-rf-base">{name}</span>
        {folder !== "" && <span class="p-rf-folder">{folder.slice(0, -1)}</span>}
      </span>
    </span>
  );
}

export function FileBadges({ file }: { readonly file: ProposedFile }) {
  return (
    <>
      {fileBadges(file).map(({ word, title, tone }) => (
        <span key={word} class={`p-label p-mark-${tone}`} title={title}>
          {word}
        </span>
      ))}
    </>
  );
}
