// Words for the agent about a place in the code. Lines count from one.

export interface Place {
  /** A mention, as the session names the file; of a text that is none yet, its title. */
  readonly name: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly language: string;
  readonly text: string;
}

export interface Complaint {
  readonly message: string;
  readonly source: string;
}

export function linesOf({ startLine, endLine }: Place): string {
  return startLine === endLine ? `line ${startLine}` : `lines ${startLine}–${endLine}`;
}

/** A fence that nothing in the text can close. */
export function fenced({ language, text }: Place): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

export function explainPrompt(place: Place): string {
  return `Explain ${linesOf(place)} of ${place.name}:\n\n${fenced(place)}`;
}

export function fixPrompt(place: Place, complaints: readonly Complaint[]): string {
  const list = complaints.map(({ message, source }) => `- ${message}${source === "" ? "" : ` (${source})`}`);
  const what = complaints.length === 1 ? "this problem" : "these problems";
  return `Fix ${what} in ${place.name}, ${linesOf(place)}:\n\n${list.join("\n")}\n\n${fenced(place)}`;
}

export function selectionWords(place: Place): string {
  return `${place.name}, ${linesOf(place)}:\n\n${fenced(place)}\n`;
}
