// The choices that have no room in the row, in a small panel.

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ConfigOption } from "../../generated/portico/v1/events_pb";
import { labelOf } from "./picker-choices";
import { OptionControl, type OptionControlProps } from "./option-control";
import { keepInside } from "./popup-position";

interface MoreOptionsProps extends Omit<OptionControlProps, "option"> {
  readonly options: readonly ConfigOption[];
}

export function MoreOptions(props: MoreOptionsProps) {
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
        aria-label="More options"
        title="More options"
        onClick={() => (open.value = !open.peek())}
      >
        <i class="codicon codicon-ellipsis" aria-hidden="true" />
      </button>
      {open.value && <Panel {...props} />}
    </span>
  );
}

function Panel({ options, ...around }: MoreOptionsProps) {
  const panel = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (panel.current === null) return;
    keepInside(panel.current);
    panel.current.querySelector("button")?.focus();
  }, []);
  return (
    <div class="p-popup p-more-options" role="dialog" aria-label="More options" tabIndex={-1} ref={panel}>
      {options.map((option) => (
        <div key={option.optionId} class="p-more-row">
          {option.value.case !== "switchedOn" && <span class="p-soft">{labelOf(option)}</span>}
          <OptionControl option={option} {...around} />
        </div>
      ))}
    </div>
  );
}
