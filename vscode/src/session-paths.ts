// Paths relative to the folder of a session.

import { isAbsolute, join, relative, sep } from "node:path";

/** The whole path of what a session of the folder names. One that is whole stays as it is. */
export function absolutePath(folder: string, name: string): string {
  return isAbsolute(name) ? name : join(folder, name);
}

/** Path relative to the folder of a session; absolute if the file is outside. */
export function relativePath(folder: string, path: string): string {
  const name = relative(folder, path);
  const isOutside = name === "" || name === ".." || name.startsWith(`..${sep}`) || isAbsolute(name);
  return folder === "" || isOutside ? path : name.replaceAll(sep, "/");
}
