// Tells those who cannot see the conversation that something has been proposed.

import { useEffect, useState } from "preact/hooks";
import { countOf } from "../../model/review-actions";
import type { SessionModel } from "../../model/types";

export function ProposalAnnouncer({ session }: { readonly session: SessionModel }) {
  const [words, setWords] = useState("");
  useEffect(() => {
    // What was proposed before the session was opened is no news.
    let told: ReadonlyMap<string, number> | undefined;
    return session.detail.subscribe((detail) => {
      if (detail?.summary === undefined) return;
      const { proposals } = detail;
      const news = proposals.find(
        (one) => told !== undefined && (told.get(one.proposalId) ?? 0) < one.revision,
      );
      told = new Map(proposals.map((one) => [one.proposalId, one.revision]));
      if (news !== undefined)
        setWords(`Proposed: ${countOf(news.files.length + news.unlisted, "file")} to review`);
    });
  }, [session]);
  return (
    <div class="p-aloud" aria-live="polite">
      {words}
    </div>
  );
}
