// Active file, selection, open tabs and problems of the editor as attachments of a prompt.

import type { EditorContext, Memory } from "../../gateway/gateway";
import type { OutgoingAttachment } from "../../model/types";
import { shortPath } from "../timeline/short-path";

/** The parts of the editor's context that the person shares. */
export interface SharedContext {
  readonly file: boolean;
  readonly selection: boolean;
  readonly tabs: boolean;
  readonly problems: boolean;
}

/** Context that is shared by default. */
export const USUALLY_SHARED: SharedContext = { file: true, selection: true, tabs: false, problems: false };
const SHARED = "shared context";

/** The person's last choice, which holds in every session of this editor. */
export function rememberedContext(memory: Memory): SharedContext {
  const kept = memory.get(SHARED);
  return typeof kept === "object" && kept !== null ? { ...USUALLY_SHARED, ...kept } : USUALLY_SHARED;
}

export function rememberContext(memory: Memory, shared: SharedContext): void {
  memory.set(SHARED, shared);
}

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
  const { openFiles = [], problems = [] } = context ?? {};
  const found = activeAttachments(context, shared, folder);
  if (shared.tabs && openFiles.length > 0)
    found.push(note("Open tabs in the editor", openFiles.map((path) => shortPath(path, folder)).join("\n")));
  if (shared.problems && problems.length > 0) {
    const lines = problems.map(
      ({ path, line, severity, message }) => `${shortPath(path, folder)}:${line}: ${severity}: ${message}`,
    );
    found.push(note("Problems in the editor", lines.join("\n")));
  }
  return found;
}

function activeAttachments(
  context: EditorContext | undefined,
  shared: SharedContext,
  folder: string,
): OutgoingAttachment[] {
  const { selection, language = "" } = context ?? {};
  const activeFile = context?.activeFile && shortPath(context.activeFile, folder);
  if (selection !== undefined && selection.text !== "" && shared.selection) {
    const place = activeFile === undefined ? lineRange(selection) : `${activeFile}, ${lineRange(selection)}`;
    return [note(`Selected in the editor: ${place}`, selection.text)];
  }
  if (activeFile === undefined || !shared.file) return [];
  return [note("Open in the editor", language === "" ? activeFile : `${activeFile} (${language})`)];
}

function note(name: string, text: string): OutgoingAttachment {
  return { name, mimeType: "text/plain", data: new TextEncoder().encode(text) };
}
