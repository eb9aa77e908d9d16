// Message about an apply that failed because of conflicts.

import type { ProposalUpdated } from "../../../web/src/generated/portico/v1/events_pb";

const NAMED = 3;

export function conflictMessage(proposal: Pick<ProposalUpdated, "files"> | undefined): string {
  const paths = (proposal?.files ?? []).filter(({ conflict }) => conflict).map(({ path }) => path);
  const more = paths.length - NAMED;
  const names = paths.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return names === ""
    ? "Nothing was applied: files have changed. Review the conflicts."
    : `Nothing was applied: conflicts in ${names}.`;
}
