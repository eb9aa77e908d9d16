// The frame of the composer, which takes files that are dropped anywhere on it.

import { useSignal, type ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Composition } from "./composition";

interface DropZoneProps {
  readonly composition: Composition;
  readonly closed: ReadonlySignal<boolean>;
  readonly children: ComponentChildren;
}

export function DropZone({ composition, closed, children }: DropZoneProps) {
  const over = useSignal(false);
  const carriesFiles = (event: DragEvent): boolean =>
    !closed.peek() && event.dataTransfer?.types.includes("Files") === true;
  const enter = (event: DragEvent): void => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    over.value = true;
  };
  return (
    <div
      class={`p-composer-box${over.value ? " p-composer-over" : ""}`}
      onDragEnter={enter}
      onDragOver={enter}
      onDragLeave={(event) => {
        const to = event.relatedTarget;
        if (!(to instanceof Node && event.currentTarget.contains(to))) over.value = false;
      }}
      onDrop={(event) => {
        over.value = false;
        if (!carriesFiles(event)) return;
        event.preventDefault();
        void composition.attach([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      {children}
      {over.value && (
        <div class="p-drop" aria-hidden="true">
          <i class="codicon codicon-attach" /> Drop to attach
        </div>
      )}
    </div>
  );
}
