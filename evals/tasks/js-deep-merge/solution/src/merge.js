const FORBIDDEN = new Set(["__proto__", "constructor", "prototype"]);

/** Return the values of an object with changes merged into it. Null removes a value, arrays are replaced. */
export function merge(base, changes) {
  const merged = structuredClone(base);
  for (const [name, value] of Object.entries(changes)) {
    if (FORBIDDEN.has(name)) continue;
    if (value === null) {
      delete merged[name];
    } else if (isPlain(value)) {
      merged[name] = merge(isPlain(merged[name]) ? merged[name] : {}, value);
    } else {
      merged[name] = structuredClone(value);
    }
  }
  return merged;
}

function isPlain(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
