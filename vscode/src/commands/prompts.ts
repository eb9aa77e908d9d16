// Words for the agent about a place in the code. Lines count from one.

export interface Place {
  /** Relative to the folder, as it is shown. */
  readonly path: string;
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
  return `Explain ${linesOf(place)} of ${mention(place.path)}:\n\n${fenced(place)}`;
}

export function fixPrompt(place: Place, complaints: readonly Complaint[]): string {
  const list = complaints.map(({ message, source }) => `- ${message}${source === "" ? "" : ` (${source})`}`);
  const what = complaints.length === 1 ? "this problem" : "these problems";
  return `Fix ${what} in ${mention(place.path)}, ${linesOf(place)}:\n\n${list.join("\n")}\n\n${fenced(place)}`;
}

export function selectionWords(place: Place): string {
  return `${mention(place.path)}, ${linesOf(place)}:\n\n${fenced(place)}\n`;
}

/** As the server reads it: with quotes where the name has spaces or ends like a sentence. */
export function mention(path: string): string {
  return /\s|[.,;:!?)\]}>"']$/.test(path) && !path.includes('"') ? `@"${path}"` : `@${path}`;
}
