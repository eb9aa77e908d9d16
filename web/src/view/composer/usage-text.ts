// How full the agent's memory is and what it has cost, in words and as a share.

import type { UsageUpdated } from "../../generated/portico/v1/events_pb";

export interface UsageLine {
  readonly name: string;
  readonly value: string;
}

/** From 0 to 1; undefined if the agent has not said both how much there is and how much is used. */
export function shareUsed(usage: UsageUpdated): number | undefined {
  const { used, size } = usage;
  if (used === undefined || size === undefined || size <= 0n) return undefined;
  return Math.min(1, Math.max(0, Number(used) / Number(size)));
}

export type UsageLevel = "calm" | "high" | "full";

export function levelOf(share: number): UsageLevel {
  if (share >= 0.95) return "full";
  return share >= 0.8 ? "high" : "calm";
}

/** What there is to say; empty if the agent has told nothing. */
export function usageLines(usage: UsageUpdated, locale?: string): readonly UsageLine[] {
  const count = new Intl.NumberFormat(locale);
  const tokens = (value: bigint): string => `${count.format(value)} tokens`;
  const share = shareUsed(usage);
  const lines: UsageLine[] = [];
  if (share !== undefined && usage.used !== undefined && usage.size !== undefined) {
    const percent = Math.round(share * 100);
    lines.push({
      name: "Context",
      value: `${count.format(usage.used)} of ${tokens(usage.size)} (${percent} %)`,
    });
  } else if (usage.used !== undefined) {
    lines.push({ name: "Context", value: tokens(usage.used) });
  }
  if (usage.inputTokens !== undefined) lines.push({ name: "Input", value: tokens(usage.inputTokens) });
  if (usage.outputTokens !== undefined) lines.push({ name: "Output", value: tokens(usage.outputTokens) });
  if (usage.cost !== undefined)
    lines.push({ name: "Cost", value: formatMoney(usage.cost, usage.currency, locale) });
  return lines;
}

export function formatMoney(amount: number, currency: string, locale?: string): string {
  const digits = amount !== 0 && Math.abs(amount) < 0.1 ? 4 : 2;
  const bounds = { minimumFractionDigits: 2, maximumFractionDigits: digits };
  if (/^[A-Za-z]{3}$/.test(currency)) {
    return new Intl.NumberFormat(locale, { ...bounds, style: "currency", currency }).format(amount);
  }
  return `${new Intl.NumberFormat(locale, bounds).format(amount)} ${currency}`.trim();
}
