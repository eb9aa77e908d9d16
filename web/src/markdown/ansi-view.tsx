// The output of a program on the page, in a box of limited height that follows its end.

import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { TerminalView } from "./terminal-view";

export interface TerminalBoxProps {
  /** Everything that the program has written so far. */
  readonly text: string;
  readonly label?: string;
}

export function TerminalBox({ text, label = "Terminal output" }: TerminalBoxProps): VNode {
  const scroller = useRef<HTMLDivElement>(null);
  const view = useRef<TerminalView>(null);

  useLayoutEffect(() => {
    if (scroller.current === null) {
      return undefined;
    }
    const created = new TerminalView(scroller.current);
    view.current = created;
    return () => created.dispose();
  }, []);
  useLayoutEffect(() => view.current?.update(text), [text]);

  return <div ref={scroller} class="terminal" role="group" aria-label={label} tabIndex={0} />;
}
