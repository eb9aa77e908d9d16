// Paths as the server writes them, with forward slashes.

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function folderName(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
