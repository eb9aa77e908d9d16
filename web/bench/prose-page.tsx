// The page that prose.mjs measures: streams a text into the real component, some deltas a frame.

import { render } from "preact";
import { TerminalText } from "../src/markdown/ansi-view";
import { Prose } from "../src/markdown/prose";

export interface Bench {
  streamProse(text: string, deltas: number, perFrame: number): Promise<void>;
  streamTerminal(text: string, deltas: number, perFrame: number): Promise<void>;
  showProse(text: string): Promise<void>;
  showNow(text: string, open: boolean): void;
  clear(): void;
}

declare global {
  interface Window {
    bench: Bench;
    followed: string[];
  }
}

const QUIET_MOMENTS = 4;
const root = document.querySelector("#root") as HTMLElement;
window.followed = [];

function prose(text: string, open: boolean): void {
  render(
    <Prose
      text={text}
      open={open}
      onLink={(url) => window.followed.push(url)}
      onFile={(path, line) => window.followed.push(`file ${path} ${line ?? ""}`)}
    />,
    root,
  );
}

function stream(
  text: string,
  deltas: number,
  perFrame: number,
  show: (text: string, open: boolean) => void,
): Promise<void> {
  const size = Math.ceil(text.length / deltas);
  let sent = 0;
  let soFar = "";
  return new Promise((resolve) => {
    const next = (): void => {
      for (let count = 0; count < perFrame && sent < text.length; count += 1) {
        soFar += text.slice(sent, sent + size);
        sent += size;
      }
      show(soFar, sent < text.length);
      if (sent < text.length) {
        requestAnimationFrame(next);
      } else {
        void settled().then(resolve);
      }
    };
    requestAnimationFrame(next);
  });
}

/** Waits until the text is shown and several idle moments have passed without a change. */
async function settled(): Promise<void> {
  const seen = { changed: false };
  const observer = new MutationObserver(() => {
    seen.changed = true;
  });
  observer.observe(root, { attributes: true, childList: true, subtree: true, characterData: true });
  for (let quiet = 0; quiet < QUIET_MOMENTS; quiet += 1) {
    await new Promise((resolve) =>
      requestAnimationFrame(() => requestIdleCallback(resolve, { timeout: 1_000 })),
    );
    if (seen.changed || root.querySelector("[aria-busy]") !== null) {
      quiet = 0;
      seen.changed = false;
    }
  }
  observer.disconnect();
}

window.bench = {
  streamProse: (text, deltas, perFrame) => stream(text, deltas, perFrame, prose),
  streamTerminal: (text, deltas, perFrame) =>
    stream(text, deltas, perFrame, (soFar) => render(<TerminalText text={soFar} />, root)),
  showProse: (text) => {
    prose(text, false);
    return settled();
  },
  showNow: prose,
  clear: () => render(null, root),
};
