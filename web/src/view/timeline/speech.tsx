// What the agent says and what it thinks.

import type { AnswerItem, ThoughtItem } from "../../model/types";
import { preferencesOf } from "../preferences";
import { keptOpen, type RowContext } from "./row-context";
import { formatDuration } from "./duration";
import { ContentBlocks } from "./content-blocks";
import { CopyIcon, Icon } from "./elements";
import { SpeechText } from "./words";

export function Answer({ item, context }: { readonly item: AnswerItem; readonly context: RowContext }) {
  return (
    <article class={`p-answer${item.open ? " p-answer-open" : ""}`} aria-label="Answer" aria-busy={item.open}>
      {item.partial && <Earlier context={context} />}
      <SpeechText item={item} context={context} />
      <ContentBlocks blocks={item.blocks} context={context} />
      {!item.open && (
        <span class="p-row-actions">
          <CopyIcon label="Copy this answer as Markdown" text={() => item.text} />
        </span>
      )}
    </article>
  );
}

export function Thought({ item, context }: { readonly item: ThoughtItem; readonly context: RowContext }) {
  const chosen = keptOpen(context.session, item.key);
  const shown = chosen.value ?? preferencesOf(context.gateway.memory).showThinking.value;
  const took = formatDuration(item.durationMs);
  const title = item.open ? "Thinking…" : took === "" || item.partial ? "Thought" : `Thought for ${took}`;
  return (
    <section class="p-thought" aria-busy={item.open}>
      <button type="button" class="p-fold" aria-expanded={shown} onClick={() => (chosen.value = !shown)}>
        <Icon name={shown ? "chevron-down" : "chevron-right"} />
        <span class="p-fold-title">{title}</span>
        {item.open && !shown && <span class="p-fold-hint">{lastLine(item.text)}</span>}
      </button>
      {shown && (
        <div class="p-thought-body">
          {item.partial && <Earlier context={context} />}
          <SpeechText item={item} context={context} />
          <ContentBlocks blocks={item.blocks} context={context} />
        </div>
      )}
    </section>
  );
}

/** Stands before words whose beginning is in a page that is not loaded. */
function Earlier({ context: { session } }: { readonly context: RowContext }) {
  return (
    <button type="button" class="p-link-button p-earlier-part" onClick={() => void session.loadEarlier()}>
      Show the beginning
    </button>
  );
}

const LONGEST_HINT = 200;

function lastLine(text: string): string {
  const end = text.trimEnd();
  return end.slice(Math.max(end.lastIndexOf("\n") + 1, end.length - LONGEST_HINT)).replaceAll(/[*_`#]/g, "");
}
