/** Merge the values of one object into another. */
export function merge(base, changes) {
  for (const name in changes) {
    if (typeof changes[name] === "object") {
      base[name] = merge(base[name] ?? {}, changes[name]);
    } else {
      base[name] = changes[name];
    }
  }
  return base;
}
