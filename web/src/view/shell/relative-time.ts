// Relative times: today, yesterday; five minutes ago.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The heading that a moment belongs under. */
export function dayOf(at: Date, now: Date): string {
  const days = Math.round((startOfDay(now) - startOfDay(at)) / DAY);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return "This week";
  if (days < 30) return "This month";
  return at.toLocaleDateString(undefined, { month: "long", year: "numeric" });
}

/** Time since then, abbreviated. */
export function ago(at: Date, now: Date): string {
  const passed = Math.max(0, now.getTime() - at.getTime());
  if (passed < MINUTE) return "now";
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h`;
  if (passed < 7 * DAY) return `${Math.floor(passed / DAY)} d`;
  return at.toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

/** Neighbours under one heading, in their order. */
export function byDay<Entry>(
  entries: readonly Entry[],
  when: (entry: Entry) => Date,
  now: Date,
): readonly { readonly day: string; readonly entries: readonly Entry[] }[] {
  const groups: { day: string; entries: Entry[] }[] = [];
  for (const entry of entries) {
    const day = dayOf(when(entry), now);
    const last = groups.at(-1);
    if (last?.day === day) last.entries.push(entry);
    else groups.push({ day, entries: [entry] });
  }
  return groups;
}

function startOfDay(at: Date): number {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
}
