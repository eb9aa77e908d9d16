/**
 * @param {string} text
 * @returns {Record<string, string>}
 */
export function parseQuery(text) {
  const found = {};
  for (const part of text.replace(/^\?/, "").split("&")) {
    const [name, value] = part.split("=");
    found[name] = value;
  }
  return found;
}

/** @param {Record<string, unknown>} values */
export function formatQuery(values) {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}
