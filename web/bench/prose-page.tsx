// The page that prose.mjs measures: streams a text into the real component, some deltas a frame.

import { render } from "preact";
import { TerminalBox } from "../src/markdown/terminal-view";
import { Prose } from "../src/markdown/prose";

export interface Streamed {
  /** From the first delta to the last. */
  readonly stream_ms: number;
  /** From the last delta until all of it was on the page. */
  readonly late_ms: number;
}

export interface Bench {
  streamProse(text: string, deltas: number, perFrame: number): Promise<Streamed>;
  streamTerminal(text: string, deltas: number, perFrame: number): Promise<Streamed>;
  showProse(text: string): Promise<Streamed>;
  showTerminal(text: string): void;
  showNow(text: string, open: boolean): void;
  clear(): void;
}

declare global {
  interface Window {
    bench: Bench;
    sample: string;
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

function terminal(text: string): void {
  render(<TerminalBox text={text} />, root);
}

async function stream(
  text: string,
  deltas: number,
  perFrame: number,
  show: (text: string, open: boolean) => void,
): Promise<Streamed> {
  const size = Math.ceil(text.length / deltas);
  const began = performance.now();
  let sent = 0;
  let soFar = "";
  while (sent < text.length) {
    await inFrame(() => {
      for (let count = 0; count < perFrame && sent < text.length; count += 1) {
        soFar += text.slice(sent, sent + size);
        sent += size;
      }
      show(soFar, sent < text.length);
    });
  }
  const ended = performance.now();
  while (isBusy()) {
    await inFrame();
  }
  const shown = performance.now();
  await settled();
  return { stream_ms: Math.round(ended - began), late_ms: Math.round(shown - ended) };
}

function inFrame(action?: () => void): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => {
      action?.();
      resolve();
    });
  });
}

function isBusy(): boolean {
  return root.querySelector("[aria-busy]") !== null;
}

/** Waits until the text is shown and several idle moments have passed without a change. */
async function settled(): Promise<void> {
  const seen = { changed: false };
  const observer = new MutationObserver(() => {
    seen.changed = true;
  });
  observer.observe(root, { attributes: true, childList: true, subtree: true, characterData: true });
  for (let quiet = 0; quiet < QUIET_MOMENTS; quiet += 1) {
    await inFrame();
    await new Promise((resolve) => requestIdleCallback(resolve, { timeout: 1_000 }));
    if (seen.changed || isBusy()) {
      quiet = 0;
      seen.changed = false;
    }
  }
  observer.disconnect();
}

window.bench = {
  streamProse: (text, deltas, perFrame) => stream(text, deltas, perFrame, prose),
  streamTerminal: (text, deltas, perFrame) => stream(text, deltas, perFrame, terminal),
  showTerminal: terminal,
  showProse: (text) => stream(text, 1, 1, prose),
  showNow: prose,
  clear: () => render(null, root),
};
