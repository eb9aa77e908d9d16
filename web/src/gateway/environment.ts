// Time, frames, randomness and visibility: what models need of the page they run in.

import { TypingPriority, type Cancel } from "./typing-priority";

export type { Cancel };

export interface Environment {
  /** Milliseconds, also while the machine sleeps. */
  now(): number;
  /** A number from 0 up to 1. */
  random(): number;
  after(milliseconds: number, act: () => void): Cancel;
  /** Before the next picture is drawn, or soon if none is; a little later while the person types. */
  frame(act: () => void): Cancel;
  /** The person, or the network, is back. */
  onReturn(act: () => void): Cancel;
  /** The page is being hidden or closed; there may be no other chance. */
  onLeave(act: () => void): Cancel;
}

/** A hidden page draws nothing, so a frame may not come. */
const LONGEST_FRAME = 200;

function after(milliseconds: number, act: () => void): Cancel {
  const timer = setTimeout(act, milliseconds);
  return () => clearTimeout(timer);
}

function nextFrame(act: () => void): Cancel {
  const cancel = (): void => {
    cancelAnimationFrame(drawn);
    clearTimeout(late);
  };
  const once = (): void => {
    cancel();
    act();
  };
  const drawn = requestAnimationFrame(once);
  const late = setTimeout(once, LONGEST_FRAME);
  return cancel;
}

let typingPriority: TypingPriority | undefined;

function watchTyping(): TypingPriority {
  const clock = { now: () => performance.now(), after, frame: nextFrame };
  const made = new TypingPriority(clock, (still) =>
    document.documentElement.classList.toggle("p-still", still),
  );
  window.addEventListener("input", () => made.typed(), { capture: true, passive: true });
  // If it only begins a new line, the field changes next.
  window.addEventListener("keydown", ({ key }) => key === "Enter" && made.sent(), { capture: true });
  return made;
}

export const browserEnvironment: Environment = {
  now: () => Date.now(),
  random: () => Math.random(),
  after,
  frame: (act) => (typingPriority ??= watchTyping()).frame(act),

  onReturn(act) {
    const visible = (): void => {
      if (document.visibilityState === "visible") act();
    };
    window.addEventListener("online", act);
    window.addEventListener("focus", act);
    document.addEventListener("visibilitychange", visible);
    return () => {
      window.removeEventListener("online", act);
      window.removeEventListener("focus", act);
      document.removeEventListener("visibilitychange", visible);
    };
  },

  onLeave(act) {
    const hidden = (): void => {
      if (document.visibilityState === "hidden") act();
    };
    window.addEventListener("pagehide", act);
    document.addEventListener("visibilitychange", hidden);
    return () => {
      window.removeEventListener("pagehide", act);
      document.removeEventListener("visibilitychange", hidden);
    };
  },
};
