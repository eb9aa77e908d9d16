// How full the agent's memory is, as a small ring; the numbers come on hover and focus.

import { useComputed } from "@preact/signals";
import type { SessionModel } from "../../model/types";
import { levelOf, shareUsed, usageLines } from "./usage-text";

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
