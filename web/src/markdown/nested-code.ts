// Frames around code inside other blocks, kept while those blocks are rendered again.

import { CodeFrame } from "./code-frame";
import type { MorphHooks } from "./morph";

/** While the block is open its code may grow. */
export const OPEN_CODE = codeHooks(false);
export const CLOSED_CODE = codeHooks(true);

function codeHooks(closed: boolean): MorphHooks {
  return {
    adopt(fresh) {
      if (isCode(fresh)) {
        return createFrame(fresh, closed);
      }
      if (fresh instanceof Element) {
        for (const code of fresh.querySelectorAll("pre")) {
          code.replaceWith(createFrame(code, closed));
        }
      }
      return fresh;
    },
    update(live, fresh) {
      const frame = CodeFrame.of(live);
      if (isCode(fresh)) {
        return frame?.showText(languageOf(fresh), fresh.textContent, closed) ?? false;
      }
      return frame === undefined ? undefined : false;
    },
  };
}

function isCode(node: Node): node is HTMLPreElement {
  return node instanceof HTMLPreElement;
}

function languageOf(code: HTMLPreElement): string {
  return code.dataset["language"] ?? "";
}

function createFrame(code: HTMLPreElement, closed: boolean): HTMLElement {
  const frame = new CodeFrame(languageOf(code));
  frame.showText(languageOf(code), code.textContent, closed);
  return frame.element;
}
