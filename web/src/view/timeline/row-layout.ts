// Positions of the rows of a long list, measured or estimated. Knows no DOM.

/** Layout data of a row. */
export interface RowPlace {
  readonly key: string;
  /** Estimated height until it is measured, in pixels. */
  readonly guess: number;
}

/** Rows from `first` up to but without `end`. */
export interface RowRange {
  readonly first: number;
  readonly end: number;
}

export class RowLayout {
  readonly #heights = new Map<string, number>();
  #rows: readonly RowPlace[] = [];
  #indices = new Map<string, number>();
  /** Start of row i; right for i up to `#settled`. One longer than the rows. */
  #offsets = new Float64Array(1);
  #settled = 0;

  get count(): number {
    return this.#rows.length;
  }

  /** The height of all rows. */
  get total(): number {
    return this.offset(this.#rows.length);
  }

  /** Takes the rows as they are now; heights that were measured are kept by key. */
  setRows(rows: readonly RowPlace[]): void {
    const same = commonBeginning(this.#rows, rows);
    this.#rows = rows;
    this.#settled = Math.min(this.#settled, same);
    if (this.#offsets.length <= rows.length) {
      const wider = new Float64Array(Math.max(64, rows.length * 2));
      wider.set(this.#offsets);
      this.#offsets = wider;
    }
    this.#indices = new Map(rows.map((row, index) => [row.key, index]));
  }

  /** Returns whether anything changed. */
  setHeight(key: string, height: number): boolean {
    if (this.#heights.get(key) === height) return false;
    this.#heights.set(key, height);
    const index = this.#indices.get(key);
    if (index !== undefined) this.#settled = Math.min(this.#settled, index);
    return true;
  }

  indexOf(key: string): number | undefined {
    return this.#indices.get(key);
  }

  /** Start of a row; the count of rows gives the end of the last one. */
  offset(index: number): number {
    const wanted = Math.max(0, Math.min(index, this.#rows.length));
    while (this.#settled < wanted) {
      const begin = this.#offsets[this.#settled] ?? 0;
      this.#offsets[this.#settled + 1] = begin + this.#heightOf(this.#settled);
      this.#settled += 1;
    }
    return this.#offsets[wanted] ?? 0;
  }

  /** The row at a height; the first above all of them, the last below. */
  indexAt(height: number): number {
    let low = 0;
    let high = this.#rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offset(middle) <= height) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  /** The rows that touch a stretch of the list. */
  range(top: number, bottom: number): RowRange {
    if (this.#rows.length === 0) return { first: 0, end: 0 };
    return { first: this.indexAt(top), end: this.indexAt(bottom) + 1 };
  }

  #heightOf(index: number): number {
    const row = this.#rows[index];
    return row === undefined ? 0 : (this.#heights.get(row.key) ?? row.guess);
  }
}

/** Whether all of one range is in another. */
export function covers(outer: RowRange, inner: RowRange): boolean {
  return outer.first <= inner.first && inner.end <= outer.end;
}

function commonBeginning(before: readonly RowPlace[], now: readonly RowPlace[]): number {
  const most = Math.min(before.length, now.length);
  let index = 0;
  while (index < most && before[index]?.key === now[index]?.key) index += 1;
  return index;
}
