// Text of code and terminals as DOM nodes, with direction controls made visible.

import { visiblePieces } from "./direction-controls";

export function visibleNodes(text: string): Node[] {
  return visiblePieces(text).map((piece) => {
    if ("text" in piece) {
      return document.createTextNode(piece.text);
    }
    const mark = document.createElement("span");
    mark.className = "control-mark";
    mark.textContent = piece.control;
    return mark;
  });
}
