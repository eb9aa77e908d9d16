// View state of a list of changed files: open files, revealed lines and the reader's position.

import { computed, effect, signal, untracked, type ReadonlySignal, type Signal } from "@preact/signals";
import type { FileContents } from "../../generated/portico/v1/agent_pb";
import { FileOperation, type FileProblems, type ProposedFile } from "../../generated/portico/v1/events_pb";
import { WHOLE_FILE, type HunkDecisions } from "../../model/hunk-decisions";
import type { ProposalContents } from "../../model/proposal-contents";
import { parsePatch, type Patch } from "../../model/patch";
import { DiffScroller } from "./diff-scroller";
import {
  buildSection,
  hunkKey,
  type HiddenLines,
  type RevealedLines,
  type FileSection,
  type SectionShape,
} from "./diff-rows";

/** Source of the files, and the choices on them; without choices they are read-only. */
export interface ReviewSource {
  readonly files: ReadonlySignal<readonly ProposedFile[]>;
  contents(): ProposalContents | undefined;
  decisions(): HunkDecisions | undefined;
  problems?(path: string): FileProblems | undefined;
}

/** A hunk or file that the reader navigates to and decides on. */
export interface ReviewStop {
  readonly key: string;
  readonly path: string;
  readonly hunkIds: readonly string[];
}

/** So many lines come at a time. */
const PORTION = 20;
/** A file that a program made is closed at first if it has more changed lines. */
const FEW_LINES = 40;

export class ReviewView {
  readonly scroller = new DiffScroller();
  readonly split: Signal<boolean>;
  /** Characters that fit a line; 0 until measured. */
  readonly columns = signal(80);
  /** Whether two sides have room beside each other. */
  readonly roomy = signal(false);
  /** Whether they would have room without the list of files. */
  readonly canSplit = signal(false);
  /** The person wants both sides where they are narrow, too. */
  readonly narrow = signal(false);
  /** The key of the stop that the reader is at, and the file it is in. */
  readonly cursor: Signal<string | undefined> = signal(undefined);
  readonly at: ReadonlySignal<string | undefined>;
  readonly sections: ReadonlySignal<readonly FileSection[]>;
  readonly stops: ReadonlySignal<readonly ReviewStop[]>;
  readonly #opened: Signal<ReadonlyMap<string, boolean>> = signal(new Map());
  readonly #revealed: Signal<ReadonlyMap<string, RevealedLines>> = signal(new Map());
  readonly #patches = new WeakMap<object, Patch>();
  readonly #built = new Map<string, { readonly shape: SectionShape; readonly section: FileSection }>();

  constructor(
    readonly source: ReviewSource,
    split: Signal<boolean>,
  ) {
    this.split = split;
    this.sections = computed(() => this.source.files.value.map((file) => this.#section(file)));
    this.at = computed(() => (this.cursor.value === undefined ? undefined : this.current?.path));
    this.stops = computed(() => this.sections.value.flatMap(stopsOf));
  }

  /** Follows the files; the answer ends it. */
  start(): () => void {
    const stopRows = effect(() => {
      const sections = this.sections.value;
      untracked(() => this.scroller.setSections(sections));
    });
    const stopWanting = effect(() => {
      for (const { section } of this.scroller.shown.value.sections) {
        const { file, isOpen } = section;
        if (isOpen && (file.shortened || file.conflict)) void this.source.contents()?.request(file.path);
      }
    });
    return () => {
      stopRows();
      stopWanting();
    };
  }

  contentsOf(path: string): FileContents | undefined {
    return this.source.contents()?.of(path).value;
  }

  toggle(path: string, open: boolean): void {
    this.#opened.value = new Map(this.#opened.peek()).set(path, open);
  }

  toggleAll(open: boolean): void {
    this.#opened.value = new Map(this.source.files.peek().map((file) => [file.path, open]));
  }

  /** Shows more of the lines between two hunks. */
  async reveal(path: string, { number }: HiddenLines, which: "above" | "below" | "all"): Promise<void> {
    await this.source.contents()?.request(path);
    const key = `${path}\n${number}`;
    const { above, below } = this.#revealed.peek().get(key) ?? { above: 0, below: 0 };
    const next: RevealedLines = {
      above: which === "all" ? Infinity : which === "above" ? above + PORTION : above,
      below: which === "below" ? below + PORTION : below,
    };
    this.#revealed.value = new Map(this.#revealed.peek()).set(key, next);
  }

  /** The stop that the reader is at. */
  get current(): ReviewStop | undefined {
    return this.stops.value.find((stop) => stop.key === this.cursor.value);
  }

  isCurrent(path: string, hunkId: string): boolean {
    return this.cursor.value?.startsWith(hunkKey(path, hunkId)) ?? false;
  }

  /** Makes a hunk the current one, where it stands. */
  choose(path: string, hunkId: string): void {
    const stop = this.stops.peek().find((one) => one.path === path && one.hunkIds.includes(hunkId));
    if (stop !== undefined) this.cursor.value = stop.key;
  }

  /** Makes a file the current one, where it stands: the whole of it, or its first change. */
  chooseFile(path: string): void {
    const stop = this.stops.peek().find((one) => one.path === path);
    if (stop !== undefined && this.current?.path !== path) this.cursor.value = stop.key;
  }

  /** To the next or the previous change; from nowhere, to the one in sight. */
  step(by: 1 | -1): void {
    const stops = this.stops.peek();
    const at = stops.findIndex((stop) => stop.key === this.cursor.peek());
    const top = stops.findIndex((stop) => stop.path === this.scroller.top.peek());
    const next = at < 0 ? Math.max(0, top) : Math.min(stops.length - 1, Math.max(0, at + by));
    this.goTo(stops[next]);
  }

  /** To the first change of the next or the previous file. */
  stepFile(by: 1 | -1): void {
    const paths = this.source.files.peek().map((file) => file.path);
    const from = this.current?.path ?? this.scroller.top.peek() ?? "";
    const at =
      paths.indexOf(from) + (this.cursor.peek() === undefined && by === 1 && paths[0] === from ? 0 : by);
    this.showFile(paths[Math.min(paths.length - 1, Math.max(0, at))] ?? "");
  }

  showFile(path: string): void {
    const stop = this.stops.peek().find((one) => one.path === path);
    this.scroller.scrollTo(`file ${path}`, { always: true });
    if (stop !== undefined) this.goTo(stop, { scroll: false });
  }

  goTo(stop: ReviewStop | undefined, { scroll = true } = {}): void {
    if (stop === undefined) return;
    this.cursor.value = stop.key;
    if (scroll) this.scroller.scrollTo(stop.key);
    requestAnimationFrame(() => {
      const row = this.scroller.elementOf(stop.key);
      row?.querySelector<HTMLElement>("[data-stop]")?.focus({ preventScroll: true });
    });
  }

  #section(file: ProposedFile): FileSection {
    const contents = this.contentsOf(file.path);
    const patch = this.#patch(file, contents);
    const shape: SectionShape = {
      file,
      patch,
      contents,
      isOpen: this.#opened.value.get(file.path) ?? !isClosedAtFirst(file),
      revealed: Array.from({ length: patch.hunks.length + 1 }, (_, number) =>
        this.#revealed.value.get(`${file.path}\n${number}`),
      ),
      canReveal: this.source.contents() !== undefined,
      split: this.split.value && this.roomy.value && hasBothSides(file),
      columns: this.columns.value,
    };
    const before = this.#built.get(file.path);
    if (before !== undefined && isSame(before.shape, shape)) return before.section;
    const section = buildSection(shape);
    this.#built.set(file.path, { shape, section });
    return section;
  }

  #patch(file: ProposedFile, contents: FileContents | undefined): Patch {
    const whole = contents !== undefined && contents.diff !== "" ? contents : undefined;
    const source = whole ?? file;
    const known = this.#patches.get(source);
    if (known !== undefined) return known;
    const patch = parsePatch(source.diff, source.hunks);
    this.#patches.set(source, patch);
    return patch;
  }
}

function stopsOf({ file, patch, isOpen, key, rows }: FileSection): readonly ReviewStop[] {
  if (file.denied) return [];
  const ids = patch.hunks.map((hunk) => hunk.id);
  const canChoose = ids.length > 0 && ids.every((id) => id !== "");
  if (!isOpen || !canChoose) return [{ key, path: file.path, hunkIds: canChoose ? ids : [WHOLE_FILE] }];
  return rows.flatMap((row) =>
    row.type === "hunk" ? [{ key: row.key, path: file.path, hunkIds: [row.hunk.id] }] : [],
  );
}

/** Added and deleted files would leave half of the page empty. */
function hasBothSides({ operation }: ProposedFile): boolean {
  return operation !== FileOperation.CREATE && operation !== FileOperation.DELETE;
}

function isClosedAtFirst(file: ProposedFile): boolean {
  return file.generated && file.added + file.removed > FEW_LINES;
}

function isSame(one: SectionShape, other: SectionShape): boolean {
  return (
    one.file === other.file &&
    one.patch === other.patch &&
    one.contents === other.contents &&
    one.isOpen === other.isOpen &&
    one.canReveal === other.canReveal &&
    one.split === other.split &&
    one.columns === other.columns &&
    one.revealed.length === other.revealed.length &&
    one.revealed.every((revealed, index) => revealed === other.revealed[index])
  );
}
