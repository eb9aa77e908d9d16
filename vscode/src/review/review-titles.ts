// Titles of review editors and the files that they show.

import {
  FileOperation,
  type ProposalUpdated,
  type ProposedFile,
} from "../../../web/src/generated/portico/v1/events_pb";

/** VS Code cuts longer titles of tabs in the middle of a word. */
const NAME_LENGTH = 40;

/** The title of a review, different from those that are open already. */
export function reviewTitle(session: string, taken: Iterable<string>): string {
  const name = session.length > NAME_LENGTH ? `${session.slice(0, NAME_LENGTH - 1).trimEnd()}…` : session;
  const title = `Review: ${name}`;
  const others = new Set(taken);
  let other = title;
  for (let number = 2; others.has(other); number++) other = `${title}, ${number}`;
  return other;
}

/** The title of a tab. VS Code puts the number of files behind it. */
export function titleIn(label: string, titles: Iterable<string>): string | undefined {
  return [...titles].find((title) => label === title || label.startsWith(`${title} (`));
}

/** The files that a diff can show. */
export function shownFiles({ files }: Pick<ProposalUpdated, "files">): readonly ProposedFile[] {
  return files.filter(({ binary }) => !binary);
}

/** Sides of a file that exist. */
export function sidesIn({ operation }: Pick<ProposedFile, "operation">): { old: boolean; proposed: boolean } {
  return { old: operation !== FileOperation.CREATE, proposed: operation !== FileOperation.DELETE };
}
