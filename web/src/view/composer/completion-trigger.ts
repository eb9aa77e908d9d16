// Completion trigger at the caret, and ranking of candidates.

import type { Command } from "../../generated/portico/v1/events_pb";

/** Commands and prompts that can follow a slash. */
export type CompletionCandidate = Pick<Command, "name" | "description">;

export interface Trigger {
  readonly kind: "command" | "file";
  /** The text after the / or the @. */
  readonly query: string;
  /** From the / or the @ to the caret. */
  readonly start: number;
  readonly end: number;
}

const COMMAND = /^\/(\S*)$/;
const FILE = /(?:^|[\s([{<])@(?:"([^"\n]*)|([^\s"]*))$/;
/** A longer word is not a file name being typed. */
const LONGEST_QUERY = 200;

export function triggerAt(text: string, caret: number): Trigger | undefined {
  const line = text.slice(Math.max(text.lastIndexOf("\n", caret - 1) + 1, caret - LONGEST_QUERY), caret);
  const command = caret <= LONGEST_QUERY ? COMMAND.exec(text.slice(0, caret)) : null;
  if (command !== null) return { kind: "command", query: command[1] ?? "", start: 0, end: caret };
  const file = FILE.exec(line);
  if (file === null) return undefined;
  const [quoted, word] = [file[1], file[2]];
  const query = quoted ?? word ?? "";
  return { kind: "file", query, start: caret - query.length - (quoted === undefined ? 1 : 2), end: caret };
}

/** Matches, best first: by prefix, then by the prefix of a part, then anywhere. */
export function rankCandidates<Thing extends CompletionCandidate>(
  things: readonly Thing[],
  query: string,
): readonly Thing[] {
  const wanted = query.toLowerCase();
  if (wanted === "") return things;
  const ranked = things.flatMap((thing, place) => {
    const rank = rankOf(thing, wanted);
    return rank === undefined ? [] : [{ thing, rank, place }];
  });
  ranked.sort((one, other) => one.rank - other.rank || one.place - other.place);
  return ranked.map(({ thing }) => thing);
}

function rankOf({ name, description }: CompletionCandidate, wanted: string): number | undefined {
  const lower = name.toLowerCase();
  if (lower === wanted) return 0;
  if (lower.startsWith(wanted)) return 1;
  if (lower.split(/[-_:./]/).some((part) => part.startsWith(wanted))) return 2;
  if (lower.includes(wanted)) return 3;
  if (wanted.length > 2 && description.toLowerCase().includes(wanted)) return 4;
  return undefined;
}

/** Letters of a name to set in bold. */
export function matchedLetters(name: string, query: string): readonly number[] {
  const at = query === "" ? -1 : name.toLowerCase().indexOf(query.toLowerCase());
  return at < 0 ? [] : Array.from({ length: query.length }, (_, offset) => at + offset);
}

/** The command that a text begins with, if nothing has been said to it yet: its hint helps then. */
export function commandAwaitingInput(text: string, commands: readonly Command[]): Command | undefined {
  const name = /^\/(\S+)\s*$/.exec(text.slice(0, LONGEST_QUERY + 1))?.[1];
  if (name === undefined) return undefined;
  return commands.find((command) => command.name === name && command.hint !== "");
}

/** A path or a name in runs of letters that fit and letters that do not. */
export function splitByMatch(
  text: string,
  matched: readonly number[],
): readonly { text: string; bold: boolean }[] {
  const bold = new Set(matched);
  const runs: { text: string; bold: boolean }[] = [];
  Array.from(text).forEach((character, place) => {
    const last = runs.at(-1);
    if (last?.bold === bold.has(place)) last.text += character;
    else runs.push({ text: character, bold: bold.has(place) });
  });
  return runs;
}
