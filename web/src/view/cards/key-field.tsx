// Input fields for keys and for names.

import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";

interface KeyFieldProps {
  readonly value: Signal<string>;
  readonly about: string;
  readonly placeholder?: string;
}

export function KeyField({ value, about, placeholder = "" }: KeyFieldProps) {
  const id = useId();
  return (
    <div class="p-form-field">
      <label for={`${id}-key`}>Key</label>
      <input
        id={`${id}-key`}
        class="p-field p-form-input"
        type="password"
        autocomplete="new-password"
        placeholder={placeholder}
        aria-describedby={`${id}-about`}
        value={value.value}
        onInput={(event) => (value.value = event.currentTarget.value)}
      />
      <p id={`${id}-about`} class="p-form-about p-soft">
        {about}
      </p>
    </div>
  );
}

interface CodeFieldProps {
  readonly label: string;
  readonly value: Signal<string>;
  readonly suggestions?: readonly string[];
}

/** A field for a name as programs write it: a variable, a model. */
export function CodeField({ label, value, suggestions = [] }: CodeFieldProps) {
  const id = useId();
  return (
    <div class="p-form-field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="p-field p-form-input p-mono"
        type="text"
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        {...(suggestions.length > 0 && { list: `${id}-suggestions` })}
        value={value.value}
        onInput={(event) => (value.value = event.currentTarget.value)}
      />
      {suggestions.length > 0 && (
        <datalist id={`${id}-suggestions`}>
          {suggestions.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </div>
  );
}
