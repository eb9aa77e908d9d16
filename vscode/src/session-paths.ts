// Paths relative to the folder of a session.

import { isAbsolute, join, relative, sep } from "node:path";

/** The whole path of what a session of the folder names. One that is whole stays as it is. */
export function absolutePath(folder: string, name: string): string {
  return isAbsolute(name) ? name : join(folder, name);
}

/** As a session of the folder names it: without the folder, and whole if it is not in it. */
export function relativePath(folder: string, path: string): string {
  const name = relative(folder, path);
  const isOutside = name === "" || name === ".." || name.startsWith(`..${sep}`) || isAbsolute(name);
  return folder === "" || isOutside ? path : name.replaceAll(sep, "/");
}
