// Mentions of files in a prompt, as in `see @src/app.py` or `@"a name with spaces"`. The server reads mentions by the
// same rules and gives the agent a link for each.

export interface Mention {
  readonly path: string;
  /** Range in the text, from the @ to after the last character. */
  readonly start: number;
  readonly end: number;
}

const MENTION = /(?<![^\s([{<"'])@(?:"([^"\n]+)"|([^\s"]\S*))/g;
const CLOSING = /[.,;:!?)\]}>"']+$/;
const NEEDS_QUOTES = /\s|[.,;:!?)\]}>"']$/;

/** Possible mentions, in order. Whether they name files is not checked here. */
export function mentionsIn(text: string): readonly Mention[] {
  if (!text.includes("@")) return [];
  return [...text.matchAll(MENTION)].map((found) => {
    const [whole, quoted, word] = found;
    return { path: quoted ?? word ?? "", start: found.index, end: found.index + whole.length };
  });
}

/** A path without what closes a sentence or a bracket behind it. */
export function withoutClosing(path: string): string {
  return path.replace(CLOSING, "");
}

/** The mention of a file among what is typed: `@src/app.py.` at the end of a sentence means `src/app.py`. */
export function fileMentions(text: string, isFile: (path: string) => boolean): readonly Mention[] {
  return mentionsIn(text).flatMap((mention) => {
    if (isFile(mention.path)) return [mention];
    const path = withoutClosing(mention.path);
    const cut = mention.path.length - path.length;
    return path !== "" && cut > 0 && isFile(path) ? [{ ...mention, path, end: mention.end - cut }] : [];
  });
}

export function mentionText(path: string): string {
  return NEEDS_QUOTES.test(path) && !path.includes('"') ? `@"${path}"` : `@${path}`;
}

export interface MentionRange {
  readonly start: number;
  readonly end: number;
}

/** The ranges to remove so that the text does not mention the file, last first. */
export function mentionRanges(text: string, path: string): readonly MentionRange[] {
  const cuts = fileMentions(text, (candidate) => candidate === path).map(({ start, end }) => ({
    start,
    end: text[end] === " " ? end + 1 : end,
  }));
  return cuts.reverse();
}
