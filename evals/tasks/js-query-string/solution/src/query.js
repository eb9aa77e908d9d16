/**
 * @param {string} text
 * @returns {Record<string, string | string[]>}
 */
export function parseQuery(text) {
  const found = {};
  for (const part of text.replace(/^\?/, "").split("&")) {
    if (part === "") continue;
    const place = part.indexOf("=");
    const name = decode(place < 0 ? part : part.slice(0, place));
    const value = place < 0 ? "" : decode(part.slice(place + 1));
    found[name] = name in found ? [found[name], value].flat() : value;
  }
  return found;
}

/** @param {Record<string, unknown>} values */
export function formatQuery(values) {
  return Object.entries(values)
    .flatMap(([name, value]) => [value].flat().map((one) => [name, one]))
    .filter(([, value]) => value !== undefined && value !== null)
    .map((pair) => pair.map(encodeURIComponent).join("="))
    .join("&");
}

function decode(text) {
  const spaced = text.replaceAll("+", " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}
