// Decisions about the hunks of a proposal that are not applied yet: kept through reloads and later revisions while
// their hunks exist.

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { DraftStore } from "../gateway/gateway";

export type ConflictChoice = "person" | "agent";

/** A file that is chosen as a whole has its decision under this id. */
export const WHOLE_FILE = "";

/** A hunk or whole file that can be accepted or rejected. */
export interface DecidableFile {
  readonly path: string;
  readonly hunkIds: readonly string[];
}

export interface DecisionMap {
  /** Accepted or rejected, by path and hunk. Undecided hunks are missing. */
  readonly hunks: ReadonlyMap<string, boolean>;
  readonly sides: ReadonlyMap<string, ConflictChoice>;
}

const NOTHING: DecisionMap = { hunks: new Map(), sides: new Map() };
const MOST_REMEMBERED = 200;

export class HunkDecisions {
  readonly comment: Signal<string>;
  readonly store: DraftStore;
  readonly #key: string;
  readonly #decided: Signal<DecisionMap>;
  #past: DecisionMap[] = [];

  constructor(store: DraftStore, key: string) {
    this.store = store;
    this.#key = key;
    const kept = readKept(store.get(key));
    this.#decided = signal(kept.decided);
    this.comment = signal(kept.comment);
    this.comment.subscribe(() => this.#keep());
  }

  get decided(): ReadonlySignal<DecisionMap> {
    return this.#decided;
  }

  /** Whether a hunk is accepted or rejected, by itself or with its file; undefined if undecided. */
  of(path: string, hunkId: string): boolean | undefined {
    const { hunks } = this.#decided.value;
    return hunks.get(nameOf(path, hunkId)) ?? hunks.get(nameOf(path, WHOLE_FILE));
  }

  sideOf(path: string): ConflictChoice | undefined {
    return this.#decided.value.sides.get(path);
  }

  /** The hunks of a file that something was decided about. */
  idsOf(path: string): readonly string[] {
    const names = [...this.#decided.peek().hunks.keys()];
    return names
      .filter((name) => name.startsWith(nameOf(path, "")))
      .map((name) => name.slice(path.length + 1));
  }

  /** Accepts or rejects changes of a file; undefined takes the decision back. */
  decide({ path, hunkIds }: DecidableFile, accepted: boolean | undefined): void {
    const hunks = new Map(this.#decided.peek().hunks);
    for (const hunkId of hunkIds) {
      if (accepted === undefined) hunks.delete(nameOf(path, hunkId));
      else hunks.set(nameOf(path, hunkId), accepted);
    }
    this.#change({ ...this.#decided.peek(), hunks });
  }

  resolve(path: string, side: ConflictChoice): void {
    const sides = new Map(this.#decided.peek().sides).set(path, side);
    this.#change({ ...this.#decided.peek(), sides });
  }

  /** Takes the last decision back; false if there is none. */
  undo(): boolean {
    const before = this.#past.pop();
    if (before === undefined) return false;
    this.#decided.value = before;
    this.#keep();
    return true;
  }

  /** Forgets what there is nothing left to decide about; how many decisions that were. */
  keepOnly(files: readonly DecidableFile[]): number {
    const { hunks, sides } = this.#decided.peek();
    const names = new Set(
      files.flatMap(({ path, hunkIds }) => [WHOLE_FILE, ...hunkIds].map((id) => nameOf(path, id))),
    );
    const paths = new Set(files.map(({ path }) => path));
    const left = new Map([...hunks].filter(([name]) => names.has(name)));
    const leftSides = new Map([...sides].filter(([path]) => paths.has(path)));
    const lost = hunks.size - left.size + sides.size - leftSides.size;
    if (lost === 0) return 0;
    this.#past = [];
    this.#decided.value = { hunks: left, sides: leftSides };
    this.#keep();
    return lost;
  }

  /** Begins anew with these decisions; there is nothing before them to go back to. */
  begin(decided: DecisionMap): void {
    this.#past = [];
    this.#decided.value = decided;
    this.#keep();
  }

  #change(next: DecisionMap): void {
    this.#past = [...this.#past, this.#decided.peek()].slice(-MOST_REMEMBERED);
    this.#decided.value = next;
    this.#keep();
  }

  #keep(): void {
    const { hunks, sides } = this.#decided.peek();
    const comment = this.comment.peek();
    const isEmpty = hunks.size === 0 && sides.size === 0 && comment === "";
    const words = isEmpty ? undefined : JSON.stringify({ hunks: [...hunks], sides: [...sides], comment });
    if (this.store.get(this.#key) !== words) this.store.set(this.#key, words);
  }
}

/** The same decision about each of these. */
export function decideAll(all: readonly DecidableFile[], accepted: boolean): DecisionMap {
  const names = all.flatMap(({ path, hunkIds }) => hunkIds.map((hunkId) => nameOf(path, hunkId)));
  return { hunks: new Map(names.map((name) => [name, accepted])), sides: new Map() };
}

function nameOf(path: string, hunkId: string): string {
  return `${path}\n${hunkId}`;
}

function readKept(words: string | undefined): { decided: DecisionMap; comment: string } {
  try {
    const kept = JSON.parse(words ?? "null") as Record<string, unknown> | null;
    const hunks = pairs(kept?.["hunks"]).filter((pair): pair is [string, boolean] => isBoolean(pair[1]));
    const sides = pairs(kept?.["sides"]).filter((pair): pair is [string, ConflictChoice] => isSide(pair[1]));
    const comment = kept?.["comment"];
    return {
      decided: { hunks: new Map(hunks), sides: new Map(sides) },
      comment: typeof comment === "string" ? comment : "",
    };
  } catch {
    return { decided: NOTHING, comment: "" };
  }
}

function pairs(value: unknown): [string, unknown][] {
  if (!Array.isArray(value)) return [];
  return value.filter((one): one is [string, unknown] => Array.isArray(one) && typeof one[0] === "string");
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isSide(value: unknown): value is ConflictChoice {
  return value === "person" || value === "agent";
}
