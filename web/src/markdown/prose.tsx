// Component that shows Markdown and reports clicks on links and files.

import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ProseView, type InFrame } from "./prose-view";

export interface ProseProps {
  readonly text: string;
  /** More of the text may come. */
  readonly open: boolean;
  /** Opens a web or mail address. Nothing else is ever a link. */
  readonly onLink: (url: string) => void;
  /** Shows a file that the text points to, where something can. */
  readonly onFile?: ((path: string, line?: number) => void) | undefined;
  /** Scheduler of the frames in which the rest of a long text is shown; every frame by default. */
  readonly inFrame?: InFrame | undefined;
}

export function Prose({ text, open, onLink, onFile, inFrame }: ProseProps): VNode {
  const root = useRef<HTMLDivElement>(null);
  const view = useRef<ProseView>(null);
  const opensFiles = onFile !== undefined;

  useLayoutEffect(() => {
    if (root.current === null) {
      return undefined;
    }
    const created = new ProseView(root.current, opensFiles, inFrame);
    view.current = created;
    return () => created.dispose();
  }, [opensFiles, inFrame]);
  useLayoutEffect(() => view.current?.update(text, open), [text, open, opensFiles, inFrame]);

  const follow = (event: Event): void => {
    const target = event.target instanceof Element ? event.target.closest("a[href], .prose-path") : null;
    if (target instanceof HTMLAnchorElement) {
      event.preventDefault();
      onLink(target.href);
    } else if (target instanceof HTMLElement && onFile !== undefined) {
      event.preventDefault();
      openFile(target, onFile);
    }
  };
  const followByKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && event.target instanceof Element && event.target.matches(".prose-path")) {
      follow(event);
    }
  };
  const followByWheel = (event: MouseEvent): void => {
    if (event.button === 1) {
      follow(event);
    }
  };
  return (
    <div
      ref={root}
      class={opensFiles ? "prose opens-files" : "prose"}
      onClick={follow}
      onAuxClick={followByWheel}
      onKeyDown={followByKey}
    />
  );
}

function openFile(target: HTMLElement, onFile: (path: string, line?: number) => void): void {
  const { path = "", line } = target.dataset;
  if (line === undefined) {
    onFile(path);
  } else {
    onFile(path, Number(line));
  }
}
