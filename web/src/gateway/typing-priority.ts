// Gives typing priority over drawing: updates are held back until the last key is on the screen. During typing, updates
// run now and then, right after a key, when the next one is furthest away. Between them animations pause, because a
// browser that draws nothing draws a key at once.

/** Typing has ended after this time without a key. */
const TYPING = 600;
/** Between two updates during typing: often enough for the eye, and rare enough not to delay keys. */
const PACE = 250;
/** After a slow update it rests this many times as long. */
const REST = 4;
/** A pause of this many times the longest recent interval between keys counts as the end of typing. */
const PAUSE = 1.25;
const SHORTEST_PAUSE = 150;
const LONGEST_PAUSE = 300;
/** The decay of that interval with each further key, so that one pause is soon forgotten. */
const MEMORY = 0.98;

export type Cancel = () => void;

export interface Clock {
  now(): number;
  after(milliseconds: number, act: () => void): Cancel;
  frame(act: () => void): Cancel;
}

/** Called when the page must stop moving, and when it may move again. */
export type PauseAnimations = (still: boolean) => void;

export class TypingPriority {
  readonly #clock: Clock;
  readonly #setPaused: PauseAnimations;
  readonly #waiting = new Set<() => void>();
  #keys = 0;
  #lastKey = -Infinity;
  /** Recent interval between keys; the person counts as slow until it is known. */
  #longestGap = LONGEST_PAUSE / PAUSE;
  /** Time since which, or update since which, a key is not on the screen. */
  #unseenSince: number | undefined;
  /** No updates before this during typing. */
  #restsUntil = -Infinity;
  #next: Cancel | undefined;
  /** Cancels the restart of animations; set while they are paused. */
  #cancelPause: Cancel | undefined;

  constructor(clock: Clock, keepStill: PauseAnimations) {
    this.#clock = clock;
    this.#setPaused = keepStill;
  }

  /** Runs with the next frame, or later if the person types. */
  frame(act: () => void): Cancel {
    const once = (): void => act();
    this.#waiting.add(once);
    this.#ask();
    return () => this.#waiting.delete(once);
  }

  /** The person has changed a field. */
  typed(): void {
    const key = ++this.#keys;
    const now = this.#clock.now();
    const gap = now - this.#lastKey;
    this.#longestGap = Math.max(this.#longestGap * MEMORY, gap < TYPING ? gap : 0);
    this.#lastKey = now;
    this.#unseenSince ??= now;
    if (this.#cancelPause !== undefined) this.#pauseAnimations();
    this.#clock.frame(() => {
      this.#clock.after(0, () => {
        if (key === this.#keys) this.#seen();
      });
    });
  }

  /** The person has sent what they typed, and wants to see what becomes of it. */
  sent(): void {
    this.#lastKey = -Infinity;
    if (this.#cancelPause !== undefined) this.#resumeAnimations();
    this.#next?.();
    this.#next = undefined;
    this.#ask();
  }

  /** Called when the last key is on the screen. */
  #seen(): void {
    this.#unseenSince = undefined;
    // Only now, because it costs a little, which the first key need not pay.
    if (this.#cancelPause === undefined && this.#clock.now() - this.#lastKey < TYPING)
      this.#pauseAnimations();
    if (this.#waiting.size === 0 || this.#clock.now() < this.#restsUntil) return;
    this.#next?.();
    this.#next = undefined;
    this.#act();
  }

  /** Until typing ends. */
  #pauseAnimations(): void {
    if (this.#cancelPause === undefined) this.#setPaused(true);
    else this.#cancelPause();
    this.#cancelPause = this.#clock.after(TYPING, () => this.#resumeAnimations());
  }

  #resumeAnimations(): void {
    this.#cancelPause?.();
    this.#cancelPause = undefined;
    this.#setPaused(false);
  }

  #ask(): void {
    if (this.#next !== undefined || this.#waiting.size === 0) return;
    const look = (): void => this.#look();
    const wait = this.#wait();
    this.#next = wait > 0 ? this.#clock.after(wait, look) : this.#clock.frame(look);
  }

  /** Keys may have been pressed since this was requested. */
  #look(): void {
    this.#next = undefined;
    if (this.#wait() > 0) this.#ask();
    else this.#act();
  }

  #act(): void {
    const began = this.#clock.now();
    if (this.#unseenSince !== undefined) this.#unseenSince = began;
    const acts = [...this.#waiting];
    this.#waiting.clear();
    for (const act of acts) act();
    const ended = this.#clock.now();
    this.#restsUntil = Math.max(began + PACE, ended + REST * (ended - began));
  }

  /** Time that the next update waits for a key. */
  #wait(): number {
    const now = this.#clock.now();
    if (this.#unseenSince !== undefined) return this.#unseenSince + PACE - now;
    if (now - this.#lastKey >= TYPING) return 0;
    const pause = Math.min(Math.max(this.#longestGap * PAUSE, SHORTEST_PAUSE), LONGEST_PAUSE);
    return Math.max(this.#restsUntil, this.#lastKey + pause) - now;
  }
}
