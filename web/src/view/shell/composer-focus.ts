// Where the focus goes when what had it has gone, or when there is something to write.

export const COMPOSER = ".p-composer-text";

/** After the frame that draws it. */
export function focusComposer(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(COMPOSER)?.focus());
}
