// Loads the syntax highlighter, which the first paint does not need. Code is plain until it is there.

import { signal } from "@preact/signals";
import type * as module from "./highlight";

export type Highlighter = Pick<typeof module, "canHighlight" | "highlight">;

/** Undefined until it is loaded. */
export const highlighter = signal<Highlighter | undefined>(undefined);
let loading: Promise<Highlighter | undefined> | undefined;

/** Undefined if it cannot be loaded; a later call tries again. */
export function loadHighlighter(): Promise<Highlighter | undefined> {
  loading ??= import("./highlight").then(
    (loaded) => (highlighter.value = loaded),
    () => (loading = undefined),
  );
  return loading;
}
