// Elapsed time that updates while it is shown.

import { useEffect, useState } from "preact/hooks";
import { formatDuration } from "./duration";

/** Shorter times are not shown. */
const PATIENCE_MS = 3_000;

/** Whole seconds in words; empty at first, and when nothing is running. */
export function useElapsed(since: Date | undefined): string {
  const [now, setNow] = useState(() => Date.now());
  const runs = since !== undefined;
  useEffect(() => {
    if (!runs) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [runs]);
  if (since === undefined) return "";
  const elapsed = now - since.getTime();
  return elapsed < PATIENCE_MS ? "" : formatDuration(Math.floor(elapsed / 1_000) * 1_000).replace(".0", "");
}
