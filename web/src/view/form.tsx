// Forms: submitted by Enter without leaving the page, with the error below.

import type { ComponentChildren } from "preact";

interface FormProps {
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
}

/** The browser neither checks nor remembers what is typed. */
export function Form({ onSubmit, children }: FormProps) {
  return (
    <form
      class="p-form"
      noValidate
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** Renders nothing while the text is empty. */
export function FormProblem({ text }: { readonly text: string }) {
  if (text === "") return null;
  return (
    <p class="p-form-problem" role="alert">
      {text}
    </p>
  );
}
