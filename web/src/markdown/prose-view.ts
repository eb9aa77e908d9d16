// Keeps the DOM of a growing Markdown text up to date: finished blocks are not touched again, and no call takes longer
// than part of a frame.

import type { CodeBlock, TextBlock } from "./block";
import { BlockSplitter } from "./block-splitter";
import { CLOSED_CODE, OPEN_CODE } from "./nested-code";
import { CodeFrame } from "./code-frame";
import { isHidden, LongBlock } from "./long-block";
import { morph } from "./morph";
import { languageOf, type References } from "./parser";
import { growsFrom } from "./text-growth";
import { renderBlock } from "./block-renderer";

const AT_ONCE_MS = 8;
const FEED = 8_192;
/** Blocks are gathered in parts and those in chapters, so that the browser passes over all but the last. */
const BLOCKS_IN_PART = 64;
const PARTS_IN_CHAPTER = 8;
/** After working for a while it rests so many times as long, so that a costly block leaves time for typing. */
const REST = 3;

/** Acts with the next picture, or when there is time for it; the answer takes that back. */
export type InFrame = (act: () => void) => () => void;

const inNextFrame: InFrame = (act) => {
  const frame = requestAnimationFrame(act);
  return () => cancelAnimationFrame(frame);
};

export class ProseView {
  readonly #root: HTMLElement;
  readonly #opensFiles: boolean;
  readonly #inFrame: InFrame;
  #splitter = new BlockSplitter();
  #holders: HTMLElement[] = [];
  #frames = new Map<number, CodeFrame>();
  #long = new LongBlock();
  #text = "";
  #open = true;
  #fed = 0;
  #shown = 0;
  #restUntil = 0;
  #cancel: (() => void) | undefined;

  constructor(root: HTMLElement, opensFiles: boolean, inFrame: InFrame = inNextFrame) {
    this.#root = root;
    this.#opensFiles = opensFiles;
    this.#inFrame = inFrame;
  }

  /** Shows the text, or begins to: the rest of a long one follows frame by frame. */
  update(text: string, open: boolean): void {
    const reopened = !this.#open && (open || text !== this.#text);
    if (reopened || !growsFrom(this.#text, text, open)) {
      this.#beginAgain();
    }
    this.#text = text;
    this.#open = open;
    if (!open) {
      this.#cancel?.();
      this.#work();
    } else if (this.#cancel === undefined) {
      this.#workWhenRested();
    }
  }

  dispose(): void {
    this.#cancel?.();
  }

  #beginAgain(): void {
    this.#splitter = new BlockSplitter();
    this.#holders = [];
    this.#frames.clear();
    this.#fed = 0;
    this.#shown = 0;
    this.#root.replaceChildren();
  }

  #workWhenRested(): void {
    const rest = this.#restUntil - performance.now();
    if (rest > 0) {
      const timer = setTimeout(() => this.#workInFrame(), rest);
      this.#cancel = () => clearTimeout(timer);
    } else {
      this.#work();
    }
  }

  #work(): void {
    this.#cancel = undefined;
    const began = performance.now();
    const done = this.#advance(began + AT_ONCE_MS);
    const ended = performance.now();
    this.#restUntil = ended + REST * (ended - began);
    if (done) {
      this.#root.removeAttribute("aria-busy");
    } else {
      this.#root.setAttribute("aria-busy", "true");
      this.#workInFrame();
    }
  }

  #workInFrame(): void {
    this.#cancel = this.#inFrame(() => this.#work());
  }

  /** Reads and shows as much as it can until the deadline, and says whether that was all. */
  #advance(deadline: number): boolean {
    for (;;) {
      while (this.#shown < this.#splitter.settled) {
        this.#show(this.#shown, true);
        this.#shown += 1;
        if (performance.now() > deadline) {
          return false;
        }
      }
      if (this.#fed >= this.#text.length) {
        break;
      }
      this.#splitter.append(this.#text.slice(this.#fed, this.#fed + FEED));
      this.#fed = Math.min(this.#fed + FEED, this.#text.length);
    }
    this.#showEnd();
    return true;
  }

  /** The block that is still open, or the last one of a text that has ended. */
  #showEnd(): void {
    if (!this.#open) {
      this.#splitter.end();
    }
    const { blocks, settled } = this.#splitter;
    if (blocks.length > settled) {
      this.#show(settled, !this.#open);
    }
    for (const holder of this.#holders.splice(blocks.length)) {
      holder.remove();
    }
    if (!this.#open) {
      this.#showLateReferences();
    }
  }

  #showLateReferences(): void {
    const late = this.#splitter.lateReferences();
    for (const index of late.blocks) {
      const block = this.#splitter.blocks[index];
      const holder = this.#holders[index];
      if (block?.type === "text" && holder !== undefined && !isHidden(holder)) {
        this.#showText(holder, block, late.references, true);
      }
    }
  }

  #show(index: number, final: boolean): void {
    const block = this.#splitter.blocks[index];
    const holder = this.#holder(index);
    if (block?.type === "code") {
      this.#showCode(index, holder, block, final);
    } else if (block !== undefined) {
      holder.classList.toggle("continued", block.continued);
      this.#long = block.continued ? this.#long : new LongBlock();
      this.#long.show(index, block.source, holder, () => {
        this.#showText(holder, block, this.#splitter.references, final);
      });
    }
  }

  #showCode(index: number, holder: HTMLElement, block: CodeBlock, final: boolean): void {
    let frame = this.#frames.get(index);
    if (frame === undefined) {
      frame = new CodeFrame(languageOf(block.info));
      this.#frames.set(index, frame);
      holder.replaceChildren(frame.element);
    }
    frame.show(block.pieces, block.tail, final || block.closed);
  }

  #showText(holder: HTMLElement, block: TextBlock, references: References, final: boolean): void {
    const fragment = renderBlock(block, references);
    if (this.#opensFiles) {
      for (const path of fragment.querySelectorAll(".prose-path")) {
        path.setAttribute("role", "link");
        path.setAttribute("tabindex", "0");
      }
    }
    morph(holder, fragment, final ? CLOSED_CODE : OPEN_CODE);
  }

  #holder(index: number): HTMLElement {
    const known = this.#holders[index];
    if (known !== undefined) {
      return known;
    }
    const part = roomIn(roomIn(this.#root, "prose-chapter", PARTS_IN_CHAPTER), "prose-part", BLOCKS_IN_PART);
    const holder = document.createElement("div");
    holder.className = "prose-block";
    part.append(holder);
    this.#holders.push(holder);
    return holder;
  }
}

/** The last child that has room for one more, or a new one. */
function roomIn(parent: Element, className: string, most: number): Element {
  const last = parent.lastElementChild;
  if (last !== null && last.childElementCount < most) {
    return last;
  }
  last?.classList.add("full");
  const next = document.createElement("div");
  next.className = className;
  parent.append(next);
  return next;
}
