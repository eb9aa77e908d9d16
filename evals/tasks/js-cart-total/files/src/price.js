/** Read a price such as "4.50". */
export function parsePrice(text) {
  const price = Number(text);
  if (Number.isNaN(price)) throw new RangeError(`not a price: ${text}`);
  return price;
}

/** Write a price such as "4.50 €". */
export function formatPrice(price) {
  return `${price} €`;
}
