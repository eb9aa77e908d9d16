// Attached files: limits, names and sizes.

/** The server's limit for one file. */
export const MOST_BYTES = 10 * 1024 * 1024;
/** Of all files of one prompt: they go to the agent in one message, and that has its bound. */
export const MOST_TOGETHER = 20 * 1024 * 1024;
export const MOST_FILES = 20;

export interface Attachment {
  readonly id: number;
  readonly name: string;
  readonly mimeType: string;
  readonly data: Uint8Array;
  /** An address for the eye, for images. */
  readonly preview: string | undefined;
}

/** Properties of a file that has not been read yet. */
export interface OfferedFile {
  readonly name: string;
  readonly size: number;
}

/** Reason why a file cannot be attached, for the person; undefined if it can. */
export function refusalReason(
  offered: OfferedFile,
  attached: readonly { data: Uint8Array }[],
): string | undefined {
  const name = displayName(offered.name);
  if (offered.size > MOST_BYTES) {
    return `${name} is ${formatSize(offered.size)}; the limit is ${formatSize(MOST_BYTES)} per file. For a file in the folder, type @ and its name.`;
  }
  const together = attached.reduce((sum, { data }) => sum + data.byteLength, offered.size);
  if (together > MOST_TOGETHER) {
    return `With ${name} the attachments are ${formatSize(together)}; the limit is ${formatSize(MOST_TOGETHER)} per prompt.`;
  }
  if (attached.length >= MOST_FILES) return `A prompt can have at most ${MOST_FILES} files.`;
  return undefined;
}

export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [value, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KB"] : [bytes / (1024 * 1024), "MB"];
  return `${value < 10 ? Math.ceil(value * 10) / 10 : Math.ceil(value)} ${unit}`;
}

// Characters without a picture of their own, and those that turn the direction of the text round.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
const LONGEST_NAME = 120;

/** The name of a file as it may be shown and sent: its last part, without anything that could disguise it. */
export function displayName(name: string): string {
  const last = name.replaceAll("\\", "/").split("/").filter(Boolean).at(-1) ?? "";
  const plain = last.replace(INVISIBLE, "").replace(/\s+/g, " ").trim();
  const characters = Array.from(plain === "" || /^\.+$/.test(plain) ? "file" : plain);
  if (characters.length <= LONGEST_NAME) return characters.join("");
  const ending = characters.slice(-20);
  return [...characters.slice(0, LONGEST_NAME - 21), "…", ...ending].join("");
}

/** A picture from the clipboard has no name of its own, or the same as every other. */
export function namePasted(file: { name: string; type: string }, number: number): string {
  if (file.name !== "" && file.name !== "image.png") return displayName(file.name);
  return `pasted-${number}.${file.type.split("/")[1]?.replace(/\W.*$/, "") ?? "bin"}`;
}

/** Pictures a browser can show without running anything in them. */
export function isPicture(mimeType: string): boolean {
  return /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(mimeType);
}

/** Whether a paste is about the files in it, and not about words that come with a picture of themselves. */
export function isAboutFiles(types: readonly string[], files: number): boolean {
  if (files === 0) return false;
  const written = types.includes("text/plain");
  return !(written && (types.includes("text/html") || types.includes("text/rtf")));
}
