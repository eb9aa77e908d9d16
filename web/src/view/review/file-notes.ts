// What is to be said of a file besides its lines: in words, one thing each.

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
    const text = file.warning === "" ? "Protected: it can be looked at and is never applied." : file.warning;
    notes.push({ tone: "warning", icon: "lock", text });
  } else if (file.warning !== "") {
    notes.push({ tone: "warning", icon: "warning", text: file.warning });
  }
  if (file.conflict) {
    const text =
      "You and the agent changed the same lines, or the file is gone. Choose what stays; the rest is merged.";
    notes.push({ tone: "warning", icon: "git-merge", text });
  }
  if (file.operation === FileOperation.RENAME) {
    notes.push({ tone: "plain", icon: "diff-renamed", text: `Renamed from ${file.oldPath}` });
  }
  if (patch.mode !== undefined) notes.push({ tone: "plain", icon: "gear", text: modeText(patch.mode) });
  if (file.binary) notes.push({ tone: "plain", icon: "file-binary", text: binaryText(file) });
  else if (patch.hunks.length === 0 && !file.shortened && isEmptyFile(file)) {
    notes.push({ tone: "plain", icon: "file", text: "An empty file." });
  }
  return notes;
}

function isEmptyFile({ operation, added, removed }: ProposedFile): boolean {
  const comesOrGoes = operation === FileOperation.CREATE || operation === FileOperation.DELETE;
  return comesOrGoes && added === 0 && removed === 0;
}

function modeText(mode: { readonly old: string; readonly new: string }): string {
  if (mode.old === "100644" && mode.new === "100755") return "Can be run from now on";
  if (mode.old === "100755" && mode.new === "100644") return "Cannot be run any more";
  return `Mode changed from ${mode.old} to ${mode.new}`;
}

function binaryText({ operation }: ProposedFile): string {
  switch (operation) {
    case FileOperation.CREATE:
      return "A new file that is no text, so there are no lines to show.";
    case FileOperation.DELETE:
      return "The file is no text, so there are no lines to show.";
    default:
      return "The file is no text: it changes as a whole.";
  }
}
