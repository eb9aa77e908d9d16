// Meter of the agent's context: a small ring, with numbers on hover and focus.

import { useComputed } from "@preact/signals";
import type { UsageUpdated } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";

const RADIUS = 6;
const ROUND = 2 * Math.PI * RADIUS;

export function ContextMeter({ session }: { session: SessionModel }) {
  const usage = useComputed(() => session.detail.value?.usage).value;
  const lines = usage === undefined ? [] : usageLines(usage);
  if (usage === undefined || lines.length === 0) return null;
  const share = shareUsed(usage);
  const words = lines.map(({ name, value }) => `${name}: ${value}`).join(". ");
  const role =
    share === undefined
      ? { role: "img" as const, "aria-label": `Usage. ${words}` }
      : {
          role: "meter" as const,
          "aria-label": "Context used",
          "aria-valuemin": 0,
          "aria-valuemax": 100,
          "aria-valuenow": Math.round(share * 100),
          "aria-valuetext": words,
        };
  return (
    <span class={`p-meter p-meter-${levelOf(share ?? 0)}`} tabIndex={0} {...role}>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <circle class="p-meter-ground" cx="8" cy="8" r={RADIUS} />
        {share !== undefined && share > 0 && (
          <circle
            class="p-meter-used"
            cx="8"
            cy="8"
            r={RADIUS}
            stroke-dasharray={`${Math.max(0.02, share) * ROUND} ${ROUND}`}
            transform="rotate(-90 8 8)"
          />
        )}
      </svg>
      <span class="p-popup p-meter-numbers" aria-hidden="true">
        {lines.map(({ name, value }) => (
          <span key={name} class="p-meter-line">
            <span class="p-soft">{name}</span>
            <span>{value}</span>
          </span>
        ))}
      </span>
    </span>
  );
}

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

/** The usage text; empty if the agent reports none. */
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
