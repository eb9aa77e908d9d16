// Top-level blocks of a Markdown text that is still being written.

export type MarkdownBlock = TextBlock | CodeBlock;

/** Some Markdown that is rendered together. */
export interface TextBlock {
  readonly type: "text";
  readonly source: string;
  /** It continues the block before, which was too long for one piece. */
  readonly continued: boolean;
  /** The number of its first item, if it continues an ordered list. */
  readonly start: number | undefined;
}

/** A fenced block of code. It grows in place: pieces are only ever added, and the tail is replaced. */
export interface CodeBlock {
  readonly type: "code";
  readonly info: string;
  readonly pieces: readonly string[];
  /** The last line as far as it has come. */
  readonly tail: string;
  readonly closed: boolean;
}
