// Costs and tokens in few characters.

/** As in the terminal: cents, or more digits of less than ten cents. */
export function money(cost: number, currency: string): string {
  const digits = cost >= 0.1 || cost === 0 ? 2 : 4;
  const amount = cost.toFixed(digits).replace(/(\.\d\d\d*?)0+$/, "$1");
  return currency === "USD" || currency === "" ? `$${amount}` : `${amount} ${currency}`;
}

export function tokenCount(tokens: number): string {
  if (tokens < 1_000) return `${tokens}`;
  return tokens < 1_000_000 ? `${(tokens / 1_000).toFixed(1)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}
