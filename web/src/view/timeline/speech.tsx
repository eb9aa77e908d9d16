// Answers and thoughts of the agent.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AnswerItem, ThoughtItem } from "../../model/types";
import { preferencesOf } from "../preferences";
import { ContentBlocks } from "./content-blocks";
import { formatDuration } from "./duration";
import { CopyIcon, Icon, Markdown } from "./elements";
import { keptOpen, type RowContext } from "./row-context";

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

interface SpeechTextProps {
  readonly item: AnswerItem | ThoughtItem;
  readonly context: RowContext;
}

export function SpeechText({ item, context }: SpeechTextProps) {
  const before = useRef(item);
  /** So many characters in front are not shown yet. */
  const waiting = useRef(0);
  const [generation, setGeneration] = useState(0);
  if (item.firstSeq < before.current.firstSeq) {
    waiting.current += Math.max(0, item.text.indexOf(before.current.text));
  }
  before.current = item;
  const shown = useRef<HTMLDivElement>(null);
  const next = useRef<HTMLDivElement>(null);
  const settle = useRef<(() => void) | undefined>(undefined);
  const prepares = waiting.current > 0;

  useEffect(() => {
    const prose = next.current?.firstElementChild;
    if (!prepares || !(prose instanceof HTMLElement)) return undefined;
    const exchange = (): void => {
      if (prose.hasAttribute("aria-busy") || shown.current === null) return;
      settle.current = context.exchange?.(shown.current, prose);
      waiting.current = 0;
      setGeneration(generation + 1);
    };
    const observer = new MutationObserver(exchange);
    observer.observe(prose, { attributeFilter: ["aria-busy"] });
    exchange();
    return () => observer.disconnect();
  }, [prepares, generation, item.firstSeq]);

  useLayoutEffect(() => {
    settle.current?.();
    settle.current = undefined;
  }, [generation]);

  return (
    <>
      <div key={generation} ref={shown}>
        <Markdown text={item.text.slice(waiting.current)} open={item.open} context={context} />
      </div>
      {prepares && (
        <div key={generation + 1} ref={next} class="p-preparing" aria-hidden="true">
          <Markdown text={item.text} open={item.open} context={context} />
        </div>
      )}
    </>
  );
}
