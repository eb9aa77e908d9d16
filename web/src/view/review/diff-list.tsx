// The changed files as one long list, of which only the visible part is rendered.

import { Component, type ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../timeline/elements";
import { languageOfFile } from "./line-segments";
import { ConflictView } from "./conflict-view";
import type { ShownSection } from "./diff-scroller";
import { FileHead } from "./file-head";
import { GapRow } from "./gap-row";
import { HunkHead } from "./hunk-head";
import { AroundLine, Line, PairLine } from "./line-view";
import type { ReviewView } from "./review-view";
import type { DiffRow, FileSection } from "./diff-rows";

/** From this width on two sides have room beside each other. */
const ROOMY = 720;
/** From this width on they are offered. */
const ENOUGH = 560;
/** Numbers, sign and edges of a line, in pixels. */
const BESIDE_TEXT = 96;

interface DiffListProps {
  readonly view: ReviewView;
  readonly label: string;
  readonly openFile: ((path: string) => void) | undefined;
}

export function DiffList({ view, label, openFile }: DiffListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const ruler = useRef<HTMLSpanElement>(null);
  const { sections, before, after } = view.scroller.shown.value;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const letter = (ruler.current?.getBoundingClientRect().width ?? 70) / 10;
      const isRoomy = element.clientWidth >= (view.narrow.peek() ? ENOUGH : ROOMY);
      const sides = view.split.peek() && isRoomy ? 2 : 1;
      view.roomy.value = isRoomy;
      view.canSplit.value = (element.parentElement ?? element).clientWidth >= ENOUGH;
      view.columns.value = Math.max(8, Math.floor((element.clientWidth / sides - BESIDE_TEXT) / letter));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    const stopSplit = view.split.subscribe(measure);
    const stopNarrow = view.narrow.subscribe(measure);
    const stop = view.start();
    const detach = view.scroller.attach(element);
    return () => {
      detach();
      stop();
      stopSplit();
      stopNarrow();
      observer.disconnect();
    };
  }, [view]);
  useLayoutEffect(() => view.scroller.committed());
  return (
    <div ref={scroller} class="p-rd" role="region" aria-label={label} tabIndex={0}>
      <span ref={ruler} class="p-rd-ruler" aria-hidden="true">
        0000000000
      </span>
      <div style={{ height: `${before}px` }} />
      {sections.map((shown) => (
        <FileSectionView key={shown.section.key} shown={shown} view={view} openFile={openFile} />
      ))}
      <div style={{ height: `${after}px` }} />
    </div>
  );
}

interface FileSectionProps {
  readonly shown: ShownSection;
  readonly view: ReviewView;
  readonly openFile: ((path: string) => void) | undefined;
}

function FileSectionView({ shown, view, openFile }: FileSectionProps) {
  const { section, rows, before, after } = shown;
  const { file } = section;
  const language = languageOfFile(file.path);
  return (
    <section class="p-rf" aria-label={file.path}>
      <FileHead section={section} view={view} openFile={openFile} />
      <div style={{ height: `${before}px` }} />
      {rows.map((row) => (
        <DiffRowView key={row.key} row={row} section={section} view={view} language={language} />
      ))}
      <div style={{ height: `${after}px` }} />
    </section>
  );
}

interface RowProps {
  readonly row: DiffRow;
  readonly section: FileSection;
  readonly view: ReviewView;
  readonly language: string;
}

/** Drawn again only when its row is another; what a person decides is followed by the parts that show it. */
class DiffRowView extends Component<RowProps> {
  readonly #take = (element: HTMLElement | null): void => {
    this.props.view.scroller.setElement(this.props.row.key, element);
  };

  override shouldComponentUpdate(next: RowProps): boolean {
    return next.row !== this.props.row || next.section.file !== this.props.section.file;
  }

  readonly #choose = (): void => {
    const { row, section, view } = this.props;
    if ("hunk" in row) view.choose(section.file.path, row.hunk.id);
    else view.chooseFile(section.file.path);
  };

  override render({ row, section, view, language }: RowProps) {
    return (
      <div ref={this.#take} class="p-rd-row" onClick={this.#choose}>
        <RowBody row={row} section={section} view={view} language={language} />
      </div>
    );
  }
}

function RowBody({ row, section, view, language }: RowProps) {
  const { file, patch } = section;
  switch (row.type) {
    case "hunk":
      return (
        <HunkHead
          path={file.path}
          hunk={row.hunk}
          rowKey={row.key}
          number={row.number}
          count={patch.hunks.length}
          denied={file.denied}
          view={view}
        />
      );
    case "line":
      return (
        <HunkLines path={file.path} hunkId={row.hunk.id} view={view}>
          <Line line={row.line} mate={row.mate} hunk={row.hunk} language={language} />
        </HunkLines>
      );
    case "pair":
      return (
        <HunkLines path={file.path} hunkId={row.hunk.id} view={view}>
          <PairLine pair={row.pair} hunk={row.hunk} language={language} />
        </HunkLines>
      );
    case "around": {
      const split = view.split.value && view.roomy.value;
      return (
        <AroundLine source={row.source} old={row.old} fresh={row.new} language={language} split={split} />
      );
    }
    case "gap":
      return <GapRow gap={row.gap} path={file.path} view={view} />;
    case "note":
      return (
        <div class={`p-rn p-rn-${row.note.tone}`}>
          <Icon name={row.note.icon} />
          <span>{row.note.text}</span>
        </div>
      );
    case "conflict":
      return (
        <ConflictView
          conflict={row.conflict}
          path={file.path}
          number={row.number}
          count={view.contentsOf(file.path)?.conflicts.length ?? 1}
          chosen={view.source.decisions()?.sideOf(file.path)}
          language={language}
          onChoose={(side) => view.source.decisions()?.resolve(file.path, side)}
        />
      );
    case "wait":
      return <WaitRow path={file.path} view={view} />;
  }
}

/** Marks the lines of the current hunk and of decided ones; rejected ones are dimmed. */
function HunkLines({
  path,
  hunkId,
  view,
  children,
}: {
  path: string;
  hunkId: string;
  view: ReviewView;
  children: ComponentChildren;
}) {
  const decided = hunkId === "" ? undefined : view.source.decisions()?.of(path, hunkId);
  const tone = decided === undefined ? "" : decided ? "p-rd-accepted" : "p-rd-rejected";
  return <div class={view.isCurrent(path, hunkId) ? `${tone} p-rd-current` : tone}>{children}</div>;
}

function WaitRow({ path, view }: { path: string; view: ReviewView }) {
  const contents = view.source.contents();
  const failure = contents?.failureOf(path).value ?? "";
  return (
    <div class="p-rn p-rn-plain" role="status">
      {failure === "" ? (
        <>
          <Icon name="loading" spinning />
          <span>Loading the full file…</span>
        </>
      ) : (
        <>
          <Icon name="warning" />
          <span>{failure}</span>
          <button type="button" class="p-link-button" onClick={() => void contents?.request(path)}>
            Try again
          </button>
        </>
      )}
    </div>
  );
}
