// Focus of the composer.

export const COMPOSER = ".p-composer-text";

/** After the frame that draws it. */
export function focusComposer(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(COMPOSER)?.focus());
}
