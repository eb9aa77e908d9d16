// Safe targets of links in untrusted text: web, mail, file, or none.

export type LinkTarget =
  | { readonly type: "web"; readonly url: string }
  | { readonly type: "file"; readonly path: string; readonly line: number | undefined };

const SAFE_SCHEME = /^(?:https?|mailto):/i;
const ANY_SCHEME = /^[a-z][a-z0-9+.-]*:/i;
// Browsers drop these before they look for a scheme, so we must too.
const IGNORED_BY_BROWSERS = /[\u0000-\u0020\u007f-\u00a0\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g;
const LINE_SUFFIX = /(?:#L?|:)(\d{1,9})(?:[-:]L?\d+)?$/;

/** The target of a Markdown link; undefined if it must not become a link. */
export function linkTarget(target: string): LinkTarget | undefined {
  const bare = target.replace(IGNORED_BY_BROWSERS, "");
  if (SAFE_SCHEME.test(bare)) {
    return isWellFormed(bare) ? { type: "web", url: bare } : undefined;
  }
  return /^(?:[/\\]{2}|[#?&]|$)/.test(bare) ? undefined : fileTarget(target);
}

function isWellFormed(url: string): boolean {
  if (!URL.canParse(url)) {
    return false;
  }
  const { protocol, hostname, pathname } = new URL(url);
  return protocol === "mailto:" ? pathname !== "" : hostname !== "";
}

function fileTarget(target: string): LinkTarget | undefined {
  let path: string;
  try {
    path = decodeURIComponent(target);
  } catch {
    return undefined;
  }
  const line = LINE_SUFFIX.exec(path);
  const withoutLine = line === null ? path : path.slice(0, line.index);
  if (ANY_SCHEME.test(withoutLine.replace(IGNORED_BY_BROWSERS, ""))) {
    return undefined;
  }
  return {
    type: "file",
    path: withoutLine,
    line: line?.[1] === undefined ? undefined : Number(line[1]),
  };
}
