// Tells a grown text from a replaced one, without reading all of it in every frame.

const SAMPLES = 16;
const SAMPLE = 64;

/**
 * Whether a text begins with another one. Of a long text that is still open only samples are compared:
 * an answer either grows at its end or is another answer.
 */
export function growsFrom(before: string, after: string, open: boolean): boolean {
  if (after.length < before.length) {
    return false;
  }
  if (!open || before.length <= SAMPLES * SAMPLE) {
    return after.startsWith(before);
  }
  const step = (before.length - SAMPLE) / (SAMPLES - 1);
  for (let index = 0; index < SAMPLES; index += 1) {
    const at = Math.round(index * step);
    if (after.slice(at, at + SAMPLE) !== before.slice(at, at + SAMPLE)) {
      return false;
    }
  }
  return true;
}
