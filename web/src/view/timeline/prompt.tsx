// A prompt in the timeline. Long ones are folded.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PromptItem } from "../../model/types";
import { RestoreButton } from "../review/restore-button";
import { ContentBlocks } from "./content-blocks";
import { CopyIcon, IconButton } from "./elements";
import { lazy } from "../lazy";
import { keptOpen, type RowContext } from "./row-context";

const PromptVersions = lazy(() => import("./prompt-versions").then((module) => module.PromptVersions));
const PromptEditor = lazy(() => import("./prompt-versions").then((module) => module.PromptEditor));

/** So much is enough for the lines that a folded prompt shows. */
const FOLDED_LENGTH = 4_000;
/** As in style/timeline.css. */
const FOLDED_LINES = 12;

export function Prompt({ item, context }: { readonly item: PromptItem; readonly context: RowContext }) {
  const open = keptOpen(context.session, `prompt ${item.key}`);
  const editing = keptOpen(context.session, `edit ${item.key}`);
  const words = useRef<HTMLDivElement>(null);
  const [isLong, setLong] = useState(false);
  const expanded = open.value === true;
  const parts = useMemo(
    () => (expanded ? textParts(item.text) : [item.text.slice(0, FOLDED_LENGTH)]),
    [item.text, expanded],
  );
  useLayoutEffect(() => {
    const element = words.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const folded = FOLDED_LINES * parseFloat(getComputedStyle(element).lineHeight);
      setLong(element.scrollHeight > folded + 1 || item.text.length > FOLDED_LENGTH);
    };
    measure();
    // In a narrower window the same words are more lines.
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [item.text, editing.value]);
  if (editing.value === true) {
    return (
      <article class="p-prompt" aria-label="You asked">
        <PromptEditor item={item} context={context} />
      </article>
    );
  }
  return (
    <article class="p-prompt" aria-label="You asked">
      {item.text !== "" && (
        <div ref={words} class={`p-prompt-words${expanded ? "" : " p-prompt-folded"}`}>
          {parts.map((part, index) => (
            <div key={index} class="p-prompt-part">
              {part}
            </div>
          ))}
        </div>
      )}
      {isLong && (
        <button
          type="button"
          class="p-link-button p-prompt-more"
          aria-expanded={expanded}
          onClick={() => (open.value = !expanded)}
        >
          {expanded ? "Show less" : "Show more"}
        </button>
      )}
      <ContentBlocks blocks={item.blocks} context={context} />
      <span class="p-row-actions">
        <RestoreButton item={item} session={context.session} gateway={context.gateway} />
        <CopyIcon label="Copy this prompt" text={() => item.text} />
        <IconButton icon="edit" label="Edit and send again" act={() => (editing.value = true)} />
      </span>
      <PromptVersions item={item} context={context} />
    </article>
  );
}

const PART = 16_384;

/** Parts end with a line where they can, and its line break is left out: parts stand below each other. */
export function textParts(text: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  while (text.length - from > PART) {
    const end = text.lastIndexOf("\n", from + PART);
    if (end > from) {
      parts.push(text.slice(from, end));
      from = end + 1;
    } else {
      parts.push(text.slice(from, from + PART));
      from += PART;
    }
  }
  parts.push(text.slice(from));
  return parts;
}
