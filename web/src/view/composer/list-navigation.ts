// Keyboard navigation in lists.

/** Index after a navigation key, wrapping around at the ends; undefined for any other key. */
export function indexAfterKey(key: string, count: number, from: number): number | undefined {
  switch (key) {
    case "ArrowDown":
      return (from + 1) % count;
    case "ArrowUp":
      return (from + count - 1) % count;
    case "Home":
    case "PageUp":
      return 0;
    case "End":
    case "PageDown":
      return count - 1;
    default:
      return undefined;
  }
}

/** The next choice behind a place whose name begins with the letters; going on at the start. */
export function indexByLetters(names: readonly string[], letters: string, from: number): number | undefined {
  const wanted = letters.toLowerCase();
  // The same letter again and again goes from one to the next.
  const single = new Set(wanted).size === 1 ? wanted[0] : undefined;
  const begin = wanted.length > 1 && single === undefined ? from : from + 1;
  const order = names.map((_, offset) => (Math.max(0, begin) + offset) % names.length);
  const find = (start: string): number | undefined =>
    order.find((place) => names[place]?.toLowerCase().startsWith(start));
  return find(wanted) ?? (single === undefined ? undefined : find(single));
}
