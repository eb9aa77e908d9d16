// Highlights code as it arrives: first plain, then line by line, and once more as a whole when a stretch is complete,
// because some colours depend on later lines.

import type { ColorRun, Highlighted } from "./highlight";
import { highlighter, loadHighlighter, type Highlighter } from "./highlighter";
import { whenIdle } from "./idle-queue";
import { changeText } from "./morph";
import { visibleNodes } from "./visible-text";

/** A stretch of code of this length is complete as soon as it can be. */
const STRETCH = 2_048;
/** So much is coloured in one go at most, even if it ends inside a comment. */
const LONGEST_PIECE = 4_096;
/** More than this stays plain. */
const LONGEST_COLOURED = 200_000;
const LONGEST_PLAIN = 16_384;
const AT_ONCE_MS = 4;

interface Stretch {
  readonly element: HTMLElement;
  text: string;
  runs: ColorRun[];
  steps: number;
}

export class CodePainter {
  readonly #code: HTMLElement;
  /** Undefined if the code stays plain. */
  #highlight: ((code: string) => Highlighted) | undefined;
  /** Nothing is painted before it is known whether there are colours. */
  #ready = false;
  /** Provisional nodes: draft colours, then plain text, then the unfinished line. */
  readonly #live = block();
  #stretch: Stretch | undefined;
  #pending = "";
  #draft: readonly ColorRun[] = [];
  #draftLength = 0;
  #tail = "";
  #painted = 0;
  #finished = false;
  #working = false;

  constructor(code: HTMLElement, language: string) {
    this.#code = code;
    code.append(this.#live);
    const loaded = highlighter.peek();
    if (loaded !== undefined || language === "") this.#begin(loaded, language);
    else void loadHighlighter().then((found) => this.#begin(found, language));
  }

  #begin(found: Highlighter | undefined, language: string): void {
    if (found?.canHighlight(language) === true) {
      this.#highlight = (code) => found.highlight(code, language);
    }
    this.#ready = true;
    this.#paint(performance.now() + AT_ONCE_MS);
    if (this.#finished) {
      this.#seal();
    }
    this.#showLive();
  }

  /** More lines that have ended, and the line behind them as far as it has come. */
  add(lines: string, tail: string): void {
    if (lines === "" && tail === this.#tail) {
      return;
    }
    this.#pending += lines;
    this.#tail = tail;
    this.#finished = false;
    this.#paint(performance.now() + AT_ONCE_MS);
    this.#showLive();
  }

  /** No more will come, so that even a comment which never ends can be painted. */
  finish(): void {
    if (!this.#finished) {
      this.#finished = true;
      this.#pending += this.#tail;
      this.#tail = "";
      this.#paint(performance.now() + AT_ONCE_MS);
      this.#seal();
      this.#showLive();
    }
  }

  #paint(deadline: number): void {
    while (this.#pending !== "" && this.#paintNext()) {
      if (performance.now() > deadline) {
        this.#paintLater();
        return;
      }
    }
  }

  #paintLater(): void {
    if (this.#working) {
      return;
    }
    this.#working = true;
    whenIdle(() => {
      const more = this.#pending !== "" && this.#paintNext();
      this.#working = more;
      this.#showLive();
      return more;
    });
  }

  /** Colours the next piece, and says whether it is worth going on. */
  #paintNext(): boolean {
    if (!this.#ready) {
      return false;
    }
    if (this.#highlight === undefined || this.#painted > LONGEST_COLOURED) {
      const piece = wholeLines(this.#pending, LONGEST_PLAIN);
      this.#keep(piece, [{ color: "", text: piece }]);
      return true;
    }
    // A piece that ended inside a comment is tried again when it has grown by a quarter.
    const all = this.#pending.length;
    if (!this.#finished && all < LONGEST_PIECE && all < this.#draftLength * 1.25) {
      return false;
    }
    const longest = this.#draftLength > 0 || all < STRETCH ? LONGEST_PIECE : STRETCH;
    const piece = wholeLines(this.#pending, longest);
    const { runs, complete } = this.#highlight(piece);
    const isLast = piece.length === all;
    if (complete || (isLast ? this.#finished : longest === LONGEST_PIECE)) {
      this.#keep(piece, runs);
      return true;
    }
    this.#draft = runs;
    this.#draftLength = piece.length;
    return !isLast;
  }

  #keep(piece: string, runs: readonly ColorRun[]): void {
    this.#stretch ??= this.#newStretch();
    const stretch = this.#stretch;
    stretch.element.append(...runs.flatMap(runNodes));
    stretch.text += piece;
    stretch.runs.push(...runs);
    stretch.steps += 1;
    this.#painted += piece.length;
    this.#pending = this.#pending.slice(piece.length);
    this.#draft = [];
    this.#draftLength = 0;
    // Stretches stand below each other, so one ends with a line, unless the line has no end.
    if (stretch.text.length >= (piece.endsWith("\n") ? STRETCH : LONGEST_PLAIN)) {
      this.#seal();
    }
  }

  #newStretch(): Stretch {
    const element = block();
    this.#live.before(element);
    return { element, text: "", runs: [], steps: 0 };
  }

  #seal(): void {
    const stretch = this.#stretch;
    this.#stretch = undefined;
    const highlight = this.#highlight;
    if (stretch !== undefined && stretch.steps > 1 && highlight !== undefined) {
      whenIdle(() => {
        repaint(stretch, highlight);
        return false;
      });
    }
  }

  #showLive(): void {
    const plain = this.#pending.slice(this.#draftLength) + this.#tail;
    const first = this.#live.firstChild;
    if (this.#draft.length === 0 && this.#live.childNodes.length === 1 && first instanceof Text) {
      const nodes = visibleNodes(plain);
      if (nodes.length === 1 && nodes[0] instanceof Text) {
        changeText(first, plain);
        return;
      }
    }
    this.#live.replaceChildren(...this.#draft.flatMap(runNodes), ...visibleNodes(plain));
  }
}

function repaint(stretch: Stretch, highlight: (code: string) => Highlighted): void {
  if (!stretch.element.isConnected || stretch.text.length > 2 * LONGEST_PIECE) {
    return;
  }
  const { runs } = highlight(stretch.text);
  if (!sameColours(runs, stretch.runs)) {
    stretch.element.replaceChildren(...runs.flatMap(runNodes));
  }
  stretch.runs = [];
}

function sameColours(left: readonly ColorRun[], right: readonly ColorRun[]): boolean {
  const joined: ColorRun[] = [];
  for (const run of right) {
    const last = joined.at(-1);
    if (last?.color === run.color) {
      joined[joined.length - 1] = { color: run.color, text: last.text + run.text };
    } else {
      joined.push(run);
    }
  }
  return (
    left.length === joined.length &&
    left.every((run, index) => run.color === joined[index]?.color && run.text === joined[index].text)
  );
}

function runNodes(run: ColorRun): Node[] {
  const nodes = visibleNodes(run.text);
  if (run.color === "") {
    return nodes;
  }
  const span = document.createElement("span");
  span.className = run.color;
  span.append(...nodes);
  return [span];
}

/** Whole lines that fit, or a part of a line that is too long. */
function wholeLines(text: string, length: number): string {
  const end = text.length <= length ? text.length : text.lastIndexOf("\n", length - 1) + 1;
  return text.slice(0, end === 0 ? length : end);
}

function block(): HTMLElement {
  const element = document.createElement("span");
  element.className = "code-stretch";
  return element;
}
