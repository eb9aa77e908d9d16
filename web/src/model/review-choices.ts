// What the person has decided about a proposal and not carried out yet: kept through reloads and through
// later revisions, as long as what they decided about is still there.

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Vault } from "../gateway/types";

export type Side = "person" | "agent";

/** A file that is chosen as a whole has its decision under this id. */
export const WHOLE = "";

/** Something that can be decided about. */
export interface Decidable {
  readonly path: string;
  readonly hunkIds: readonly string[];
}

export interface Decided {
  /** Accepted or rejected, by path and hunk. What nobody decided about is not here. */
  readonly hunks: ReadonlyMap<string, boolean>;
  readonly sides: ReadonlyMap<string, Side>;
}

const NOTHING: Decided = { hunks: new Map(), sides: new Map() };
const MOST_REMEMBERED = 200;

export class Choices {
  readonly comment: Signal<string>;
  readonly #vault: Vault;
  readonly #key: string;
  readonly #decided: Signal<Decided>;
  #past: Decided[] = [];

  constructor(vault: Vault, key: string) {
    this.#vault = vault;
    this.#key = key;
    const kept = readKept(vault.get(key));
    this.#decided = signal(kept.decided);
    this.comment = signal(kept.comment);
    this.comment.subscribe(() => this.#keep());
  }

  get decided(): ReadonlySignal<Decided> {
    return this.#decided;
  }

  /** Whether a change is accepted or rejected, by itself or with its file; undefined as long as nobody said. */
  of(path: string, hunkId: string): boolean | undefined {
    const { hunks } = this.#decided.value;
    return hunks.get(nameOf(path, hunkId)) ?? hunks.get(nameOf(path, WHOLE));
  }

  sideOf(path: string): Side | undefined {
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
  decide({ path, hunkIds }: Decidable, accepted: boolean | undefined): void {
    const hunks = new Map(this.#decided.peek().hunks);
    for (const hunkId of hunkIds) {
      if (accepted === undefined) hunks.delete(nameOf(path, hunkId));
      else hunks.set(nameOf(path, hunkId), accepted);
    }
    this.#change({ ...this.#decided.peek(), hunks });
  }

  resolve(path: string, side: Side): void {
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
  keepOnly(files: readonly Decidable[]): number {
    const { hunks, sides } = this.#decided.peek();
    const names = new Set(
      files.flatMap(({ path, hunkIds }) => [WHOLE, ...hunkIds].map((id) => nameOf(path, id))),
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
  begin(decided: Decided): void {
    this.#past = [];
    this.#decided.value = decided;
    this.#keep();
  }

  #change(next: Decided): void {
    this.#past = [...this.#past, this.#decided.peek()].slice(-MOST_REMEMBERED);
    this.#decided.value = next;
    this.#keep();
  }

  #keep(): void {
    const { hunks, sides } = this.#decided.peek();
    const comment = this.comment.peek();
    const isEmpty = hunks.size === 0 && sides.size === 0 && comment === "";
    const words = isEmpty ? undefined : JSON.stringify({ hunks: [...hunks], sides: [...sides], comment });
    if (this.#vault.get(this.#key) !== words) this.#vault.set(this.#key, words);
  }
}

/** The same decision about each of these. */
export function decidedAs(all: readonly Decidable[], accepted: boolean): Decided {
  const names = all.flatMap(({ path, hunkIds }) => hunkIds.map((hunkId) => nameOf(path, hunkId)));
  return { hunks: new Map(names.map((name) => [name, accepted])), sides: new Map() };
}

function nameOf(path: string, hunkId: string): string {
  return `${path}\n${hunkId}`;
}

function readKept(words: string | undefined): { decided: Decided; comment: string } {
  try {
    const kept = JSON.parse(words ?? "null") as Record<string, unknown> | null;
    const hunks = pairs(kept?.["hunks"]).filter((pair): pair is [string, boolean] => isBoolean(pair[1]));
    const sides = pairs(kept?.["sides"]).filter((pair): pair is [string, Side] => isSide(pair[1]));
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

function isSide(value: unknown): value is Side {
  return value === "person" || value === "agent";
}
