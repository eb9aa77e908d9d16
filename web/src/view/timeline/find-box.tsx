// Search box of the conversation. The browser's own search cannot see rows that are not rendered.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { SessionModel } from "../../model/types";
import type { Finder } from "./finder";
import { IconButton } from "./elements";

export function FindBox({ finder, session }: { readonly finder: Finder; readonly session: SessionModel }) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const onKey = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === "Escape") finder.close();
    else if (event.key === "Enter" && event.target === field.current) finder.step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const hasWords = finder.matcher.value !== undefined;
  return (
    <div class="p-find" role="search" onKeyDown={onKey}>
      <input
        ref={field}
        class="p-field p-find-field"
        type="text"
        value={finder.query.value}
        placeholder="Find in this conversation"
        aria-label="Find in this conversation"
        onInput={(event) => finder.setQuery(event.currentTarget.value)}
      />
      <span class="p-find-count p-soft" role="status">
        {hasWords ? countWords(finder) : ""}
      </span>
      <IconButton icon="arrow-up" label="Previous match" act={() => finder.step(-1)} />
      <IconButton icon="arrow-down" label="Next match" act={() => finder.step(1)} />
      <IconButton icon="close" label="Close" act={() => finder.close()} />
      {hasWords && session.hasEarlier.value && (
        <button
          type="button"
          class="p-link-button p-find-further"
          disabled={finder.looking.value}
          onClick={() => void finder.lookFurther()}
        >
          {finder.looking.value ? "Searching earlier messages…" : "Search earlier messages"}
        </button>
      )}
    </div>
  );
}

function countWords({ hits, position }: Finder): string {
  const count = hits.value.length;
  if (count === 0) return "No results";
  return position.value === 0 ? `${count}` : `${position.value} of ${count}`;
}
