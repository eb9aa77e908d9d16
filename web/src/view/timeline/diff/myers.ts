// Shortest edit script by Myers' algorithm, searched from both ends in linear memory. Work is bounded: a stretch that
// would take too long is replaced as a whole.

/** A stretch that differs: `before[beforeFrom..beforeEnd]` became `after[afterFrom..afterEnd]`. */
export interface DiffChange {
  readonly beforeFrom: number;
  readonly beforeEnd: number;
  readonly afterFrom: number;
  readonly afterEnd: number;
}

interface Box {
  readonly beforeFrom: number;
  readonly beforeEnd: number;
  readonly afterFrom: number;
  readonly afterEnd: number;
}

const PATIENCE = 2_000_000;

/** The changes in order, with something equal between any two. `patience` is the number of steps it may take. */
export function changesBetween<Part>(
  before: readonly Part[],
  after: readonly Part[],
  patience = PATIENCE,
): readonly DiffChange[] {
  const search = new Search(before, after, patience);
  search.run({ beforeFrom: 0, beforeEnd: before.length, afterFrom: 0, afterEnd: after.length });
  return joined(search.changes);
}

class Search<Part> {
  readonly changes: DiffChange[] = [];
  #patience: number;

  constructor(
    readonly before: readonly Part[],
    readonly after: readonly Part[],
    patience: number,
  ) {
    this.#patience = patience;
  }

  run(whole: Box): void {
    const waiting: Box[] = [whole];
    for (let box = waiting.pop(); box !== undefined; box = waiting.pop()) {
      const core = this.#trimmed(box);
      const beforeLength = core.beforeEnd - core.beforeFrom;
      const afterLength = core.afterEnd - core.afterFrom;
      if (beforeLength === 0 && afterLength === 0) continue;
      const middle = beforeLength === 0 || afterLength === 0 ? undefined : this.#middle(core);
      if (middle === undefined) {
        this.changes.push(core);
        continue;
      }
      const [x, y] = middle;
      waiting.push({ ...core, beforeFrom: x, afterFrom: y }, { ...core, beforeEnd: x, afterEnd: y });
    }
  }

  /** Without what is equal at both ends. */
  #trimmed({ beforeFrom, beforeEnd, afterFrom, afterEnd }: Box): Box {
    const { before, after } = this;
    while (beforeFrom < beforeEnd && afterFrom < afterEnd && before[beforeFrom] === after[afterFrom]) {
      beforeFrom += 1;
      afterFrom += 1;
    }
    while (beforeFrom < beforeEnd && afterFrom < afterEnd && before[beforeEnd - 1] === after[afterEnd - 1]) {
      beforeEnd -= 1;
      afterEnd -= 1;
    }
    return { beforeFrom, beforeEnd, afterFrom, afterEnd };
  }

  /**
   * A point on a shortest way through the box, where the search from the beginning meets the one
   * from the end; undefined when the patience is at its end. `k` names a diagonal, as seen from
   * the search's own corner.
   */
  #middle(box: Box): readonly [number, number] | undefined {
    const width = box.beforeEnd - box.beforeFrom;
    const height = box.afterEnd - box.afterFrom;
    const most = Math.min(Math.ceil((width + height) / 2), Math.ceil(Math.sqrt(Math.max(0, this.#patience))));
    const delta = width - height;
    const isOdd = delta % 2 !== 0;
    const forward = new Front(width, height, most);
    const backward = new Front(width, height, most);
    for (let depth = 0; depth <= most; depth += 1) {
      for (let k = -depth; k <= depth; k += 2) {
        const start = forward.next(k, depth);
        if (start < 0) continue;
        const x = forward.reach(k, start + this.#equalAfter(box, start, start - k));
        const met = isOdd && Math.abs(delta - k) < depth && backward.at(delta - k) >= width - x;
        if (met) return [box.beforeFrom + x, box.afterFrom + x - k];
      }
      for (let k = -depth; k <= depth; k += 2) {
        const start = backward.next(k, depth);
        if (start < 0) continue;
        const x = backward.reach(k, start + this.#equalBefore(box, start, start - k));
        const met = !isOdd && Math.abs(delta - k) <= depth && forward.at(delta - k) >= width - x;
        if (met) return [box.beforeEnd - x, box.afterEnd - x + k];
      }
      this.#patience -= 2 * depth + 2;
      if (this.#patience < 0) return undefined;
    }
    return undefined;
  }

  #equalAfter(box: Box, x: number, y: number): number {
    let steps = 0;
    let one = box.beforeFrom + x;
    let other = box.afterFrom + y;
    while (one < box.beforeEnd && other < box.afterEnd && this.before[one] === this.after[other]) {
      one += 1;
      other += 1;
      steps += 1;
    }
    this.#patience -= steps;
    return steps;
  }

  #equalBefore(box: Box, x: number, y: number): number {
    let steps = 0;
    let one = box.beforeEnd - x - 1;
    let other = box.afterEnd - y - 1;
    while (one >= box.beforeFrom && other >= box.afterFrom && this.before[one] === this.after[other]) {
      one -= 1;
      other -= 1;
      steps += 1;
    }
    this.#patience -= steps;
    return steps;
  }
}

/** Progress of a search on each diagonal, without leaving the box. */
class Front {
  readonly #reached: Int32Array;

  constructor(
    readonly width: number,
    readonly height: number,
    readonly most: number,
  ) {
    this.#reached = new Int32Array(2 * most + 3).fill(-1);
  }

  /** Negative where it has not been. */
  at(k: number): number {
    return this.#reached[this.most + 1 + k] ?? -1;
  }

  reach(k: number, x: number): number {
    this.#reached[this.most + 1 + k] = x;
    return x;
  }

  /** End of one more step on a diagonal: the furthest of the old position and both neighbours. */
  next(k: number, depth: number): number {
    if (depth === 0) return 0;
    const aside = this.at(k - 1);
    const right = aside < 0 || aside >= this.width ? -1 : aside + 1;
    const above = this.at(k + 1);
    const down = above - k > this.height ? -1 : above;
    return Math.max(right, down, this.at(k));
  }
}

/** Neighbours with nothing between them are one change. */
function joined(changes: readonly DiffChange[]): readonly DiffChange[] {
  const whole: DiffChange[] = [];
  for (const change of changes) {
    const last = whole.at(-1);
    if (last?.beforeEnd === change.beforeFrom && last.afterEnd === change.afterFrom) {
      whole[whole.length - 1] = { ...last, beforeEnd: change.beforeEnd, afterEnd: change.afterEnd };
    } else {
      whole.push(change);
    }
  }
  return whole;
}
