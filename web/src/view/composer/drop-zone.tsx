// Accepts dropped files: mentions those of the editor, attaches all others.

import { useSignal, type ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Composition } from "./composition";

interface DropZoneProps {
  readonly composition: Composition;
  readonly closed: ReadonlySignal<boolean>;
  readonly onMention: (paths: readonly string[]) => void;
  readonly children: ComponentChildren;
}

type Over = "attach" | "mention" | undefined;

export function DropZone({ composition, closed, onMention, children }: DropZoneProps) {
  const over = useSignal<Over>(undefined);
  const offered = ({ dataTransfer }: DragEvent): Over => {
    if (closed.peek()) return undefined;
    if (isFromEditor(dataTransfer)) return "mention";
    return dataTransfer?.types.includes("Files") === true ? "attach" : undefined;
  };
  const enter = (event: DragEvent): void => {
    const now = offered(event);
    if (now === undefined) return;
    event.preventDefault();
    over.value = now;
  };
  return (
    <div
      class={`p-composer-box${over.value === undefined ? "" : " p-composer-over"}`}
      onDragEnter={enter}
      onDragOver={enter}
      onDragLeave={(event) => {
        const to = event.relatedTarget;
        if (!(to instanceof Node && event.currentTarget.contains(to))) over.value = undefined;
      }}
      onDrop={(event) => {
        over.value = undefined;
        const now = offered(event);
        if (now === undefined) return;
        event.preventDefault();
        if (now === "mention") onMention(editorPaths(event.dataTransfer));
        else void composition.attach([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      {children}
      {over.value !== undefined && (
        <div class="p-drop" aria-hidden="true">
          <i class={`codicon codicon-${over.value}`} /> Drop to {over.value}
        </div>
      )}
    </div>
  );
}

/** VS Code's type for dragged items; links from other pages lack it. */
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
