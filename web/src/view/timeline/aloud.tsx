// Reads finished answers to those who cannot see them. What is still being written is not read.

import { spokenText } from "../../markdown/spoken-text";
import type { SessionModel } from "../../model/types";
import { useEffect, useState } from "preact/hooks";

const LONGEST = 4_000;

export function AnswerAnnouncer({ session }: { readonly session: SessionModel }) {
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
        setWords(spokenText(item.text.slice(0, LONGEST)));
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
