// Short sounds about sessions, made by the browser itself.

import type { SessionNotice } from "./session-notices";

/** Tones in hertz, one after the other. */
const TONES: Readonly<Record<SessionNotice["kind"], readonly number[]>> = {
  asks: [660, 880],
  ended: [880, 660],
  failed: [330, 262],
};
const SECONDS = 0.12;
const LOUDNESS = 0.08;

let context: AudioContext | undefined;

/** Does nothing where there is no sound, or before the person has used the page. */
export function playSound(kind: SessionNotice["kind"]): void {
  if (!("AudioContext" in globalThis)) return;
  context ??= new AudioContext();
  const now = context.currentTime;
  for (const [index, tone] of TONES[kind].entries()) {
    const start = now + index * SECONDS;
    const oscillator = context.createOscillator();
    const gain = context.createGain();
    oscillator.frequency.value = tone;
    gain.gain.setValueAtTime(LOUDNESS, start);
    gain.gain.exponentialRampToValueAtTime(0.0001, start + SECONDS);
    oscillator.connect(gain).connect(context.destination);
    oscillator.start(start);
    oscillator.stop(start + SECONDS);
  }
}
