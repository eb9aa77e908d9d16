// The keys of a menu: up and down, first and last, and away.

import { placeAfterKey } from "../composer/list-keys";

export function onMenuKey(event: KeyboardEvent, menu: HTMLElement | null, close: () => void): void {
  const items = [...(menu?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const at = items.findIndex((item) => item === document.activeElement);
  const next = placeAfterKey(event.key, items.length, at);
  if (event.key === "Escape") close();
  else if (next !== undefined) items[next]?.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
