// Details that open on request.

import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface DisclosureProps {
  readonly label: string;
  /** Content before the button. */
  readonly line?: ComponentChildren;
  readonly open?: Signal<boolean>;
  readonly children: ComponentChildren;
}

export function Disclosure({ label, line, open, children }: DisclosureProps) {
  const own = useSignal(false);
  const id = useId();
  const shown = open ?? own;
  return (
    <div class="p-disclosure">
      <div class={line === undefined ? "" : "p-line"}>
        {line}
        <button
          type="button"
          class="p-link-button p-disclosure-button"
          aria-expanded={shown.value}
          aria-controls={id}
          onClick={() => (shown.value = !shown.value)}
        >
          <i class={`codicon codicon-chevron-${shown.value ? "down" : "right"}`} aria-hidden="true" />
          {label}
        </button>
      </div>
      <div id={id} class="p-disclosure-body" hidden={!shown.value}>
        {shown.value && children}
      </div>
    </div>
  );
}
