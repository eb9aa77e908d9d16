// Where the keys lead in a list of choices, some of which may not be chosen.

/** The next place that can be chosen; the same one if there is none. Goes round at the ends. */
export function step(enabled: readonly boolean[], from: number, by: 1 | -1): number {
  const count = enabled.length;
  for (let distance = 1; distance <= count; distance++) {
    const place = (((from + by * distance) % count) + count) % count;
    if (enabled[place] === true) return place;
  }
  return from;
}

export function first(enabled: readonly boolean[]): number {
  return enabled.indexOf(true);
}

export function last(enabled: readonly boolean[]): number {
  return enabled.lastIndexOf(true);
}

/** Where a key leads from a place; undefined for a key that leads nowhere. */
export function placeAfterKey(key: string, enabled: readonly boolean[], from: number): number | undefined {
  switch (key) {
    case "ArrowDown":
      return step(enabled, from, 1);
    case "ArrowUp":
      return step(enabled, from < 0 ? 0 : from, -1);
    case "Home":
    case "PageUp":
      return first(enabled);
    case "End":
    case "PageDown":
      return last(enabled);
    default:
      return undefined;
  }
}

/** The next choice behind a place whose name begins with the letters; going on at the start. */
export function placeByLetters(names: readonly string[], letters: string, from: number): number | undefined {
  const wanted = letters.toLowerCase();
  // The same letter again and again goes from one to the next.
  const single = new Set(wanted).size === 1 ? wanted[0] : undefined;
  const begin = wanted.length > 1 && single === undefined ? from : from + 1;
  const order = names.map((_, offset) => (Math.max(0, begin) + offset) % names.length);
  const find = (start: string): number | undefined =>
    order.find((place) => names[place]?.toLowerCase().startsWith(start));
  return find(wanted) ?? (single === undefined ? undefined : find(single));
}
