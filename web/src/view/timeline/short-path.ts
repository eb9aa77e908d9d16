// Paths relative to a folder.

/** A path of the folder without the folder. */
export function shortPath(path: string, folder: string): string {
  const root = folder.replace(/[\\/]+$/, "");
  if (root === "" || !path.startsWith(root)) return path;
  const rest = path.slice(root.length);
  if (rest === "") return ".";
  return /^[\\/]/.test(rest) ? rest.slice(1) : path;
}
