// Files that are dragged here from the editor around the page. The agent can read them where they are, so they are
// mentioned and not attached.

/** What VS Code calls the list of what is dragged; a link of another page comes without it. */
const EDITOR_LIST = "application/vnd.code.uri-list";
const SCHEMES = new Set(["file:", "vscode-remote:"]);

export function isFromEditor(data: Pick<DataTransfer, "types"> | null): boolean {
  return data?.types.includes(EDITOR_LIST) === true;
}

/** The whole paths of what was dropped, each once. */
export function editorPaths(data: Pick<DataTransfer, "getData"> | null): readonly string[] {
  const lines = (data?.getData(EDITOR_LIST) ?? "").split(/\r?\n/);
  return [...new Set(lines.filter((line) => !line.startsWith("#")).flatMap(pathOf))];
}

function pathOf(address: string): string[] {
  try {
    const { protocol, pathname } = new URL(address);
    if (!SCHEMES.has(protocol)) return [];
    // A drive of Windows has a slash in front of it in an address only.
    return [decodeURIComponent(pathname).replace(/^\/(?=[A-Za-z]:)/, "")];
  } catch {
    return [];
  }
}
