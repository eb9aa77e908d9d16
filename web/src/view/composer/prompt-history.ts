// Steps through earlier prompts. The current draft is kept and restored.

export class PromptHistory {
  readonly #prompts: () => readonly string[];
  /** Steps back in the history; 0 is the current draft. */
  #back = 0;
  #aside = "";
  #shown: string | undefined;

  constructor(prompts: () => readonly string[]) {
    this.#prompts = prompts;
  }

  /** Whether the text is an earlier prompt, as it was. */
  isShowing(text: string): boolean {
    return this.#back > 0 && text === this.#shown;
  }

  /** Whether there is nothing older among the prompts that are known. */
  get atOldest(): boolean {
    return this.#back >= this.#known().length;
  }

  /** One prompt further back; undefined if there is none. */
  older(text: string): string | undefined {
    if (!this.isShowing(text)) {
      this.#back = 0;
      this.#aside = text;
    }
    const known = this.#known();
    if (this.#back >= known.length) return undefined;
    this.#back++;
    return this.#show(known[known.length - this.#back]);
  }

  /** One prompt further on, and in the end what was put aside; undefined if no earlier prompt is shown. */
  newer(text: string): string | undefined {
    if (!this.isShowing(text)) return undefined;
    this.#back--;
    const known = this.#known();
    return this.#back === 0 ? this.#leave() : this.#show(known[known.length - this.#back]);
  }

  /** The draft that an earlier prompt replaced; it is restored. */
  leave(text: string): string | undefined {
    return this.isShowing(text) ? this.#leave() : undefined;
  }

  #leave(): string {
    this.#back = 0;
    this.#shown = undefined;
    return this.#aside;
  }

  #show(prompt: string | undefined): string | undefined {
    this.#shown = prompt;
    return prompt;
  }

  #known(): readonly string[] {
    const prompts = this.#prompts().filter((prompt) => prompt.trim() !== "");
    return prompts.filter((prompt, place) => prompt !== prompts[place - 1]);
  }
}
