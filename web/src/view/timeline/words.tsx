// The words of an answer or a thought. When its beginning is loaded later, the words in sight stay
// until all of them are ready, and then both change places without moving what the reader looks at.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AnswerItem, ThoughtItem } from "../../model/types";
import type { RowContext } from "./row-context";
import { Markdown } from "./elements";

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
