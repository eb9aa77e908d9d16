// Reads finished answers to those who cannot see them. What is still being written is not read.

import type { SessionModel } from "../../model/types";
import { useEffect, useState } from "preact/hooks";

const LONGEST = 4_000;

export function Aloud({ session }: { readonly session: SessionModel }) {
  const [words, setWords] = useState("");
  useEffect(() => {
    // What was there when the session was opened has been read before.
    let read: number | undefined;
    const stopLooking = session.detail.subscribe((detail) => {
      if (detail?.summary !== undefined) read ??= Number(detail.summary.lastSeq);
    });
    const stopReading = session.items.subscribe((items) => {
      if (read === undefined) return;
      for (const item of items.slice(-LAST)) {
        if (item.type !== "answer" || item.open || item.lastSeq <= read) continue;
        read = item.lastSeq;
        setWords(plain(item.text));
      }
    });
    return () => {
      stopLooking();
      stopReading();
    };
  }, [session]);
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
