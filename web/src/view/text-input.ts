// Detects elements that take typed text, so that shortcuts leave them alone.

export function isTextInput(target: EventTarget | null, inputs = "input"): boolean {
  return (
    target instanceof Element && target.closest(`${inputs}, textarea, select, [contenteditable]`) !== null
  );
}
