// Notes on a file besides its lines: conflict, rename, mode, binary.

import { FileOperation, type ProposedFile } from "../../generated/portico/v1/events_pb";
import type { Patch } from "../../model/patch";

export interface FileNote {
  readonly tone: "plain" | "warning";
  readonly icon: string;
  readonly text: string;
}

export function fileNotes(file: ProposedFile, patch: Patch): readonly FileNote[] {
  const notes: FileNote[] = [];
  if (file.denied) {
    const text = file.warning === "" ? "Protected: can be viewed but not applied." : file.warning;
    notes.push({ tone: "warning", icon: "lock", text });
  } else if (file.warning !== "") {
    notes.push({ tone: "warning", icon: "warning", text: file.warning });
  }
  if (file.conflict) {
    const text =
      "You and the agent changed the same lines, or the file was deleted. Choose which version to keep; the rest is merged.";
    notes.push({ tone: "warning", icon: "git-merge", text });
  }
  if (file.operation === FileOperation.RENAME) {
    notes.push({ tone: "plain", icon: "diff-renamed", text: `Renamed from ${file.oldPath}` });
  }
  if (patch.mode !== undefined) notes.push({ tone: "plain", icon: "gear", text: modeText(patch.mode) });
  if (file.binary) notes.push({ tone: "plain", icon: "file-binary", text: binaryText(file) });
  else if (patch.hunks.length === 0 && !file.shortened && isEmptyFile(file)) {
    notes.push({ tone: "plain", icon: "file", text: "Empty file." });
  }
  return notes;
}

function isEmptyFile({ operation, added, removed }: ProposedFile): boolean {
  const comesOrGoes = operation === FileOperation.CREATE || operation === FileOperation.DELETE;
  return comesOrGoes && added === 0 && removed === 0;
}

function modeText(mode: { readonly old: string; readonly new: string }): string {
  if (mode.old === "100644" && mode.new === "100755") return "Made executable";
  if (mode.old === "100755" && mode.new === "100644") return "No longer executable";
  return `Mode changed from ${mode.old} to ${mode.new}`;
}

function binaryText({ operation }: ProposedFile): string {
  switch (operation) {
    case FileOperation.CREATE:
      return "New binary file.";
    case FileOperation.DELETE:
      return "Binary file, deleted.";
    default:
      return "Binary file: changes as a whole.";
  }
}
