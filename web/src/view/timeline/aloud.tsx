// Reads finished answers to those who cannot see them. What is still being written is not read.

import type { SessionModel } from "../../model/types";
import { useEffect, useRef, useState } from "preact/hooks";

const LONGEST = 4_000;

export function Aloud({ session }: { readonly session: SessionModel }) {
  const open = useRef(new Set<string>());
  const [words, setWords] = useState("");
  useEffect(
    () =>
      session.items.subscribe((items) => {
        const before = open.current;
        const now = new Set<string>();
        for (const item of items.slice(-LAST)) {
          if (item.type !== "answer") continue;
          if (item.open) now.add(item.key);
          else if (before.has(item.key)) setWords(plain(item.text));
        }
        open.current = now;
      }),
    [session],
  );
  return (
    <div class="p-aloud" aria-live="polite">
      {words}
    </div>
  );
}

/** Only the end of the conversation changes. */
const LAST = 50;

/** Without the marks that a voice would spell out. */
function plain(markdown: string): string {
  const words = markdown.slice(0, LONGEST).replaceAll(/```[\s\S]*?(```|$)/g, " (code) ");
  return words.replaceAll(/[*_`#>|]+/g, "").replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
}
