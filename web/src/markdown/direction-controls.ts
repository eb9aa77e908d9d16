// Characters that change the direction of text and can disguise it.

const DIRECTION_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;
const DIRECTION_CONTROL = /[\u202a-\u202e\u2066-\u2069]/;

/** Text that reads in the order it is written. For prose, where such a character has no work to do. */
export function withoutDirectionControls(text: string): string {
  return DIRECTION_CONTROL.test(text) ? text.replace(DIRECTION_CONTROLS, "") : text;
}

/** For names and lines that stand outside of prose, where text is all there can be. */
export function withVisibleControls(text: string): string {
  return DIRECTION_CONTROL.test(text)
    ? text.replace(DIRECTION_CONTROLS, (one) => `[${controlName(one)}]`)
    : text;
}

/** Text in pieces, where every piece of the second kind stands for a character that must be seen. */
export type VisiblePiece = { readonly text: string } | { readonly control: string };

/** For code and terminals, where an invisible character may change what a program does. */
export function visiblePieces(text: string): readonly VisiblePiece[] {
  if (!DIRECTION_CONTROL.test(text)) {
    return [{ text }];
  }
  const pieces: VisiblePiece[] = [];
  let from = 0;
  for (const match of text.matchAll(DIRECTION_CONTROLS)) {
    if (match.index > from) {
      pieces.push({ text: text.slice(from, match.index) });
    }
    pieces.push({ control: controlName(match[0]) });
    from = match.index + 1;
  }
  if (from < text.length) {
    pieces.push({ text: text.slice(from) });
  }
  return pieces;
}

function controlName(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
