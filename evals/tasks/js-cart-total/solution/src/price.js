/** Read a price such as "4.50", in cents. */
export function parsePrice(text) {
  const found = /^(\d+)(?:\.(\d{1,2}))?$/.exec(text);
  if (found === null) throw new RangeError(`not a price: ${text}`);
  return Number(found[1]) * 100 + Number((found[2] ?? "").padEnd(2, "0"));
}

/** Write cents as a price such as "4.50 €". */
export function formatPrice(cents) {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")} €`;
}
