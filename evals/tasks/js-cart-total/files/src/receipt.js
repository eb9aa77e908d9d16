import { formatPrice } from "./price.js";

/** The text of a receipt. */
export function receipt(cart, discount = 0) {
  const lines = [...cart.lines()];
  if (discount > 0) lines.push(`Discount: ${formatPrice(cart.total() - cart.total(discount))}`);
  lines.push(`Total: ${formatPrice(cart.total(discount))}`);
  return lines.join("\n");
}
