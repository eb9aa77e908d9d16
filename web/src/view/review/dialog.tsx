// A dialog of the browser's own: it holds the focus, gives it back, and leaves at Escape.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  readonly kind: string;
  readonly onLeave: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, kind, onLeave, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal();
  }, []);
  const leave = (): void => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      class={`p-dialog p-dialog-${kind}`}
      aria-labelledby={id}
      onClose={onLeave}
      onClick={(event) => {
        if (event.target === dialog.current) leave();
      }}
    >
      <div class="p-dialog-body">
        <header class="p-dialog-top">
          <h2 id={id}>{title}</h2>
          <button type="button" class="p-icon-button" aria-label="Close" onClick={leave}>
            <i class="codicon codicon-close" aria-hidden="true" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
