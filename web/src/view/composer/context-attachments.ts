// Active file and selection of the editor as attachments of a prompt.

import type { EditorContext } from "../../gateway/gateway";
import type { OutgoingAttachment } from "../../model/types";
import { shortPath } from "../timeline/short-path";

/** The parts of the editor's context that the person shares. */
export interface SharedContext {
  readonly file: boolean;
  readonly selection: boolean;
}

export const SHARE_ALL: SharedContext = { file: true, selection: true };

export function lineRange(selection: NonNullable<EditorContext["selection"]>): string {
  const { startLine, endLine } = selection;
  return startLine === endLine ? `line ${startLine}` : `lines ${startLine}–${endLine}`;
}

/**
 * A few words for the agent, never the file itself: what is open may be large, or hold secrets. An
 * agent that wants to read it asks for that as for every other file. One of another folder than the
 * session's is named by its whole path.
 */
export function contextAttachments(
  context: EditorContext | undefined,
  shared: SharedContext,
  folder: string,
): OutgoingAttachment[] {
  const { selection } = context ?? {};
  const activeFile = context?.activeFile && shortPath(context.activeFile, folder);
  if (selection !== undefined && selection.text !== "" && shared.selection) {
    const place = activeFile === undefined ? lineRange(selection) : `${activeFile}, ${lineRange(selection)}`;
    return [note(`Selected in the editor: ${place}`, selection.text)];
  }
  if (activeFile === undefined || !shared.file) return [];
  return [note("Open in the editor", activeFile)];
}

function note(name: string, text: string): OutgoingAttachment {
  return { name, mimeType: "text/plain", data: new TextEncoder().encode(text) };
}
