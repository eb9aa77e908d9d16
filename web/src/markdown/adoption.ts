// Puts frames around the code inside other blocks, and keeps them while those blocks are rendered again.

import { CodeFrame } from "./code-frame";
import type { Adoption } from "./morph";

/** While the block is open its code may grow. */
export const OPEN_CODE = codeAdoption(false);
export const CLOSED_CODE = codeAdoption(true);

function codeAdoption(closed: boolean): Adoption {
  return {
    adopt(fresh) {
      if (isCode(fresh)) {
        return framed(fresh, closed);
      }
      if (fresh instanceof Element) {
        for (const code of fresh.querySelectorAll("pre")) {
          code.replaceWith(framed(code, closed));
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

function framed(code: HTMLPreElement, closed: boolean): HTMLElement {
  const frame = new CodeFrame(languageOf(code));
  frame.showText(languageOf(code), code.textContent, closed);
  return frame.element;
}
