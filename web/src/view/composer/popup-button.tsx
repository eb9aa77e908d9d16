// Icon button with a panel above it, which closes with Escape and when the focus leaves it.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { keepInside } from "./popup-position";

interface PopupButtonProps {
  readonly label: string;
  readonly icon: string;
  /** Of the panel, besides the common one. */
  readonly panelClass: string;
  readonly onOpen?: () => void;
  readonly children: ComponentChildren;
}

export function PopupButton({ label, icon, panelClass, onOpen, children }: PopupButtonProps) {
  const open = useSignal(false);
  const whole = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  return (
    <span
      class="p-picker"
      ref={whole}
      onFocusOut={(event) => {
        const to = event.relatedTarget;
        if (!(to instanceof Node && whole.current?.contains(to) === true)) open.value = false;
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open.peek() || event.defaultPrevented) return;
        open.value = false;
        button.current?.focus();
        event.preventDefault();
      }}
    >
      <button
        ref={button}
        type="button"
        class="p-icon-button"
        aria-haspopup="dialog"
        aria-expanded={open.value}
        aria-label={label}
        title={label}
        onClick={() => {
          open.value = !open.peek();
          if (open.peek()) onOpen?.();
        }}
      >
        <i class={`codicon codicon-${icon}`} aria-hidden="true" />
      </button>
      {open.value && (
        <Panel label={label} panelClass={panelClass}>
          {children}
        </Panel>
      )}
    </span>
  );
}

function Panel({ label, panelClass, children }: Pick<PopupButtonProps, "label" | "panelClass" | "children">) {
  const panel = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    panel.current?.querySelector("button")?.focus();
  }, []);
  // After every change, since what it shows may come late.
  useLayoutEffect(() => {
    if (panel.current !== null) keepInside(panel.current);
  });
  return (
    <div class={`p-popup ${panelClass}`} role="dialog" aria-label={label} tabIndex={-1} ref={panel}>
      {children}
    </div>
  );
}
