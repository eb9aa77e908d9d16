// Picker: a quiet button with a list above it, for mouse and keyboard.

import { useSignal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { indexAfterKey, indexByLetters } from "./list-navigation";
import { keepInside } from "./popup-position";

export interface Choice {
  readonly value: string;
  readonly name: string;
  readonly description: string;
  readonly icon?: string;
  /** Cannot be chosen now. */
  readonly disabled?: boolean;
}

interface PickerProps {
  /** Label for screen readers. */
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  /** A line above the choices. */
  readonly heading?: string;
  /** Shown if the value is not among the choices. */
  readonly otherwise?: string;
  readonly icon?: string;
  readonly onChoose: (value: string) => void;
}

/** Letters typed after a pause begin a new word. */
const WORD_MS = 700;

export function Picker({ label, value, choices, heading, otherwise = value, icon, onChoose }: PickerProps) {
  const id = useId();
  const place = useSignal<number | undefined>(undefined);
  const letters = useRef({ typed: "", at: 0 });
  const current = choices.findIndex((choice) => choice.value === value);
  const shown = choices[current]?.name ?? otherwise;
  const open = place.value;
  const close = (): void => {
    place.value = undefined;
  };
  const choose = (chosen: number): void => {
    const choice = choices[chosen];
    if (choice === undefined || choice.disabled === true) return;
    close();
    if (choice.value !== value) onChoose(choice.value);
  };
  const onKey = (event: KeyboardEvent): void => {
    const at = place.peek();
    const { key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (at === undefined) {
      if (!["ArrowDown", "ArrowUp", "Enter", " "].includes(key)) return;
      place.value = Math.max(0, current);
    } else if (key === "Escape" || key === "Tab") {
      close();
      if (key === "Tab") return;
      event.stopPropagation();
    } else if (key === "Enter" || key === " ") {
      choose(at);
    } else if (key.length === 1) {
      letters.current = continued(letters.current, key);
      place.value =
        indexByLetters(
          choices.map((choice) => choice.name),
          letters.current.typed,
          at,
        ) ?? at;
    } else {
      const next = indexAfterKey(key, choices.length, at);
      if (next === undefined) return;
      place.value = next;
    }
    event.preventDefault();
  };
  return (
    <span class="p-picker">
      <button
        type="button"
        class="p-quiet-button"
        role="combobox"
        aria-haspopup="listbox"
        aria-expanded={open !== undefined}
        aria-controls={open === undefined ? undefined : id}
        aria-activedescendant={open === undefined ? undefined : `${id}-${open}`}
        aria-label={`${label}: ${shown}`}
        title={`${label}: ${shown}`}
        onClick={() => (place.value = open === undefined ? Math.max(0, current) : undefined)}
        onKeyDown={onKey}
        onBlur={close}
      >
        {icon !== undefined && <i class={`codicon codicon-${icon}`} aria-hidden="true" />}
        <span class="p-quiet-text">{shown}</span>
        <i class="codicon codicon-chevron-down" aria-hidden="true" />
      </button>
      {open !== undefined && (
        <List
          id={id}
          label={label}
          heading={heading}
          choices={choices}
          current={current}
          at={open}
          choose={choose}
        />
      )}
    </span>
  );
}

interface ListProps {
  readonly id: string;
  readonly label: string;
  readonly heading: string | undefined;
  readonly choices: readonly Choice[];
  readonly current: number;
  readonly at: number;
  readonly choose: (place: number) => void;
}

function List({ id, label, heading, choices, current, at, choose }: ListProps) {
  const popup = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (popup.current !== null) keepInside(popup.current);
  }, []);
  useEffect(() => {
    popup.current?.querySelector(`[data-place="${at}"]`)?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <div class="p-popup p-picker-popup" ref={popup} onMouseDown={(event) => event.preventDefault()}>
      {heading !== undefined && <div class="p-picker-heading p-soft">{heading}</div>}
      <ul id={id} role="listbox" aria-label={label}>
        {choices.map((choice, place) => (
          <li
            key={choice.value}
            id={`${id}-${place}`}
            data-place={place}
            role="option"
            class={`p-choice${place === at ? " p-choice-at" : ""}`}
            aria-selected={place === current}
            aria-disabled={choice.disabled === true ? true : undefined}
            onClick={() => choose(place)}
          >
            <i class={`codicon codicon-${place === current ? "check" : "blank"}`} aria-hidden="true" />
            <span class="p-choice-words">
              <span>{choice.name}</span>
              {choice.description !== "" && <span class="p-choice-more">{choice.description}</span>}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function continued(
  { typed, at }: { typed: string; at: number },
  letter: string,
): { typed: string; at: number } {
  const now = Date.now();
  return { typed: now - at > WORD_MS ? letter : typed + letter, at: now };
}
