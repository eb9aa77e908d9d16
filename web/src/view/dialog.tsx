// A native dialog: it traps the focus, restores it, and closes on Escape.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  readonly kind: string;
  readonly onLeave: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, kind, onLeave, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed while it is still there, so that the browser gives the focus back however it goes.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element?.open === false) element.showModal();
    return () => element?.close();
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
