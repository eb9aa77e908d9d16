// Long plain text in parts, each of which the browser can lay out on its own.

const PART = 16_384;

/** Parts end with a line where they can, and its line break is left out: parts stand below each other. */
export function textParts(text: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  while (text.length - from > PART) {
    const end = text.lastIndexOf("\n", from + PART);
    if (end > from) {
      parts.push(text.slice(from, end));
      from = end + 1;
    } else {
      parts.push(text.slice(from, from + PART));
      from += PART;
    }
  }
  parts.push(text.slice(from));
  return parts;
}
