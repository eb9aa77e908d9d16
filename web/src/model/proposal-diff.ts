// Test for proposals that a diff editor can show.

import type { ProposalUpdated } from "../generated/portico/v1/events_pb";

/** Whether a diff editor can show the file, or any file if none is named. It cannot resolve conflicts. */
export function canDiff(proposal: Pick<ProposalUpdated, "files"> | undefined, path?: string): boolean {
  const files = proposal?.files ?? [];
  const wanted = files.filter((file) => path === undefined || file.path === path);
  return wanted.some(({ binary }) => !binary) && !files.some(({ conflict }) => conflict);
}
