// Prompts about an excerpt of code. Lines count from one.

export interface CodeExcerpt {
  /** A mention, as the session names the file; of a text that is none yet, its title. */
  readonly name: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly language: string;
  readonly text: string;
}

export interface CodeProblem {
  readonly message: string;
  readonly source: string;
}

export function lineRange({ startLine, endLine }: CodeExcerpt): string {
  return startLine === endLine ? `line ${startLine}` : `lines ${startLine}–${endLine}`;
}

/** A fence that nothing in the text can close. */
export function fenceCode({ language, text }: CodeExcerpt): string {
  return fenceText(text, language);
}

export function fenceText(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

export function explainPrompt(place: CodeExcerpt): string {
  return `Explain ${lineRange(place)} of ${place.name}:\n\n${fenceCode(place)}`;
}

export function fixPrompt(place: CodeExcerpt, complaints: readonly CodeProblem[]): string {
  const list = complaints.map(({ message, source }) => `- ${message}${source === "" ? "" : ` (${source})`}`);
  const what = complaints.length === 1 ? "this problem" : "these problems";
  return `Fix ${what} in ${place.name}, ${lineRange(place)}:\n\n${list.join("\n")}\n\n${fenceCode(place)}`;
}

export function selectionText(place: CodeExcerpt): string {
  return `${place.name}, ${lineRange(place)}:\n\n${fenceCode(place)}\n`;
}
