// Programmatic access to the prompt's text field. Changes use the browser's own editing where possible, so that undo
// covers them.

import { effect, type Signal } from "@preact/signals";

export class PromptEditor {
  readonly #draft: Signal<string>;
  #element: HTMLTextAreaElement | undefined;
  #composing = false;

  constructor(draft: Signal<string>) {
    this.#draft = draft;
  }

  /** Shows the draft in a field from now on, without waiting for a frame: the next key may come before it. */
  attach(element: HTMLTextAreaElement): () => void {
    this.#element = element;
    return effect(() => {
      this.#show(element, this.#draft.value);
      grow(element);
    });
  }

  /** Whether an input method is putting a character together. */
  get composing(): boolean {
    return this.#composing;
  }

  get text(): string {
    return this.#element?.value ?? this.#draft.peek();
  }

  get caret(): number {
    return this.#element?.selectionEnd ?? 0;
  }

  /** Whether nothing is selected and the caret stands before everything or behind everything. */
  get caretIsAtAnEnd(): boolean {
    const { selectionStart = 0, selectionEnd = 0, value = "" } = this.#element ?? {};
    return selectionStart === selectionEnd && (selectionEnd === 0 || selectionEnd === value.length);
  }

  focus(): void {
    this.#element?.focus();
  }

  beginComposing(): void {
    this.#composing = true;
  }

  /** Some browsers tell the key that ended it only afterwards. */
  endComposing(): void {
    this.typed();
    setTimeout(() => {
      this.#composing = false;
    });
  }

  /** The person has changed the field; a change outside of a composition says that none is under way. */
  typed(composing = this.#composing): void {
    this.#composing = composing;
    this.#draft.value = this.text;
  }

  replace(start: number, end: number, text: string): void {
    const element = this.#element;
    if (element === undefined) return;
    element.focus();
    element.setSelectionRange(start, end);
    if (!editNatively(text)) element.setRangeText(text, start, end, "end");
    this.typed();
  }

  select(start: number, end: number): void {
    this.#element?.focus();
    this.#element?.setSelectionRange(start, end);
  }

  replaceAll(text: string): void {
    this.replace(0, this.text.length, text);
  }

  /** Words from elsewhere. While a character is being put together, the person's own stay. */
  #show(element: HTMLTextAreaElement, text: string): void {
    if (element.value === text || this.#composing) return;
    const { selectionStart, selectionEnd } = element;
    const atEnd = selectionEnd === element.value.length;
    element.value = text;
    if (document.activeElement !== element) return;
    if (atEnd) element.setSelectionRange(text.length, text.length);
    else element.setSelectionRange(selectionStart, selectionEnd);
  }
}

/** There is no other way to change a field that its undo knows of. */
function editNatively(text: string): boolean {
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const edit = (command: string, value?: string): boolean => document.execCommand(command, false, value);
  return text === "" ? edit("delete") : edit("insertText", text);
}

const GROWS_BY_ITSELF = typeof CSS !== "undefined" && CSS.supports("field-sizing", "content");

/** For browsers whose fields do not grow by themselves. */
function grow(element: HTMLTextAreaElement): void {
  if (GROWS_BY_ITSELF) return;
  element.style.height = "auto";
  element.style.height = `${element.scrollHeight}px`;
}
