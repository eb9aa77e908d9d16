// Badge of a session whose proposals wait for review.

import type { SessionSummary } from "../../generated/portico/v1/agent_pb";
import { reviewText } from "../../model/session-summary";

export function ReviewBadge({ session }: { readonly session: SessionSummary | undefined }) {
  const words = session === undefined ? "" : reviewText(session);
  return words === "" ? null : <span class="p-tab-draft p-badge-review">{words}</span>;
}
