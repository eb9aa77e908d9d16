// Keeps popups inside the composer.

const MARGIN = 4;

/** Moves a popup that stands at the left edge of its button so far to the left that it is all to be seen. */
export function keepInside(popup: HTMLElement): void {
  const composer = popup.closest(".p-composer");
  if (composer === null) return;
  const frame = composer.getBoundingClientRect();
  popup.style.marginLeft = popup.style.maxHeight = "";
  popup.style.maxWidth = `${frame.width - 2 * MARGIN}px`;
  const { left, right, top } = popup.getBoundingClientRect();
  const beyond = Math.max(0, right - (frame.right - MARGIN));
  popup.style.marginLeft = `${-Math.min(beyond, left - frame.left - MARGIN)}px`;
  if (top < MARGIN) popup.style.maxHeight = `${popup.clientHeight + top - MARGIN}px`;
}
