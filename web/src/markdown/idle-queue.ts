// Queue of low-priority work, done in small steps while the browser is idle.

/** Does a little, a few milliseconds at most, and says whether more is left. */
export type IdleWork = () => boolean;

const LONGEST_TURN_MS = 12;
const PATIENCE_MS = 500;

const waiting: IdleWork[] = [];
let asked = false;

export function whenIdle(work: IdleWork): void {
  waiting.push(work);
  ask();
}

function ask(): void {
  if (!asked && waiting.length > 0) {
    asked = true;
    requestIdleCallback(takeTurn, { timeout: PATIENCE_MS });
  }
}

function takeTurn(deadline: IdleDeadline): void {
  asked = false;
  const began = performance.now();
  do {
    const work = waiting.shift();
    if (work?.() === true) {
      waiting.unshift(work);
    }
  } while (waiting.length > 0 && deadline.timeRemaining() > 2 && performance.now() - began < LONGEST_TURN_MS);
  ask();
}
