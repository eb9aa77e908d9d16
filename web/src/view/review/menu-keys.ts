// The keys of a menu: up and down, first and last, and away.

import { indexAfterKey } from "../composer/list-navigation";

export function onMenuKey(event: KeyboardEvent, menu: HTMLElement | null, close: () => void): void {
  const items = [...(menu?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const at = items.findIndex((item) => item === document.activeElement);
  const next = indexAfterKey(event.key, items.length, at);
  if (event.key === "Escape") close();
  else if (next !== undefined) items[next]?.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
