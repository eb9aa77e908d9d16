// Puts text on the clipboard and says beside the button how that went.

const FEEDBACK_MS = 1_500;
const running = new WeakMap<HTMLElement, number>();

export async function copyText(text: string, button: HTMLElement, feedback: HTMLElement): Promise<void> {
  let said: string;
  try {
    await navigator.clipboard.writeText(text);
    said = "Copied";
  } catch {
    said = "Could not copy";
  }
  feedback.textContent = said;
  button.classList.toggle("copied", said === "Copied");
  clearTimeout(running.get(button));
  const timer = setTimeout(() => {
    feedback.textContent = "";
    button.classList.remove("copied");
  }, FEEDBACK_MS);
  running.set(button, timer as unknown as number);
}
