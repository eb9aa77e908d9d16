// Selection that follows from decisions: which files and hunks are applied, and which are rejected. Undecided hunks are
// applied; denied files and undecided conflicts are not.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { ConflictSide, type FileChoiceSchema } from "../generated/portico/v1/agent_pb";
import type { ProposedFile, ProposedHunk } from "../generated/portico/v1/events_pb";
import { WHOLE_FILE, type HunkDecisions, type DecidableFile } from "./hunk-decisions";

export type FileChoice = MessageInitShape<typeof FileChoiceSchema>;

export interface ReviewSelection {
  /** Empty: with `everything` the whole proposal, without it nothing at all. */
  readonly chosen: readonly FileChoice[];
  readonly rejected: readonly FileChoice[];
  readonly everything: boolean;
  readonly counts: SelectionCounts;
}

export interface SelectionCounts {
  /** Changes that can be chosen. */
  readonly changes: number;
  readonly chosen: number;
  readonly rejected: number;
  readonly files: number;
  readonly chosenFiles: number;
  /** Undecided files in conflict. */
  readonly undecidedConflicts: number;
  readonly denied: number;
}

/** The ids that a file can be chosen by. */
export function decidableFile(
  file: ProposedFile,
  hunks: readonly ProposedHunk[] = file.hunks,
): DecidableFile {
  const ids = hunks.map((hunk) => hunk.hunkId);
  return { path: file.path, hunkIds: ids.length === 0 ? [WHOLE_FILE] : ids };
}

export function selectionOf(
  files: readonly ProposedFile[],
  decisions: HunkDecisions,
  hunksOf: (file: ProposedFile) => readonly ProposedHunk[],
): ReviewSelection {
  const chosen: FileChoice[] = [];
  const rejected: FileChoice[] = [];
  let [changes, chosenChanges, rejectedChanges, undecidedConflicts, denied] = [0, 0, 0, 0, 0];
  let everything = true;
  for (const file of files) {
    if (file.denied) {
      denied += 1;
      everything = false;
      continue;
    }
    const { path, hunkIds } = decidableFile(file, hunksOf(file));
    const refused = hunkIds.filter((hunkId) => decisions.of(path, hunkId) === false);
    const taken = hunkIds.filter((hunkId) => !refused.includes(hunkId));
    changes += hunkIds.length;
    rejectedChanges += refused.length;
    if (refused.length > 0) rejected.push(part(path, refused, hunkIds));
    if (refused.length > 0 || file.conflict) everything = false;
    const side = decisions.sideOf(path);
    if (taken.length === 0) continue;
    if (file.conflict && side === undefined) {
      undecidedConflicts += 1;
      continue;
    }
    chosenChanges += taken.length;
    const resolve = side === "person" ? ConflictSide.PERSON : ConflictSide.AGENT;
    chosen.push({ ...part(path, taken, hunkIds), ...(file.conflict && { resolve }) });
  }
  const counts: SelectionCounts = {
    changes,
    chosen: chosenChanges,
    rejected: rejectedChanges,
    files: files.length,
    chosenFiles: chosen.length,
    undecidedConflicts,
    denied,
  };
  return { chosen: everything ? [] : chosen, rejected, everything, counts };
}

function part(path: string, ids: readonly string[], all: readonly string[]): FileChoice {
  return { path, hunkIds: ids.length === all.length ? [] : [...ids] };
}
