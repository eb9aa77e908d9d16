// Link definitions of a growing text, and the blocks that used one before it was defined.

import type { MarkdownBlock } from "./block";
import { blockTokens, noReferences, parser, type References } from "./parser";

const LABEL = /\[((?:[^[\]\\]|\\.)+)\]/gs;

export class LinkDefinitions {
  readonly references: References = noReferences();
  readonly #definedBy = new Map<string, number>();

  /** Remembers what the source of a block defines. The first definition of a label wins. */
  learn(source: string, block: number): void {
    if (!source.includes("]:")) {
      return;
    }
    const found = Object.create(this.references) as References;
    blockTokens(source, found);
    for (const label of Object.keys(found)) {
      Object.assign(this.references, { [label]: found[label] });
      this.#definedBy.set(label, block);
    }
  }

  /** The blocks that mention a label which only a later block defines. */
  usedTooEarly(blocks: readonly MarkdownBlock[]): number[] {
    if (this.#definedBy.size === 0) {
      return [];
    }
    return [...blocks.keys()].filter((index) => {
      const block = blocks[index];
      return block?.type === "text" && this.#mentionsLater(block.source, index);
    });
  }

  copy(): LinkDefinitions {
    const copy = new LinkDefinitions();
    Object.assign(copy.references, this.references);
    for (const [label, block] of this.#definedBy) {
      copy.#definedBy.set(label, block);
    }
    return copy;
  }

  #mentionsLater(source: string, index: number): boolean {
    for (const match of source.matchAll(LABEL)) {
      const label = parser.utils.normalizeReference(match[1] ?? "");
      if ((this.#definedBy.get(label) ?? index) > index) {
        return true;
      }
    }
    return false;
  }
}
