// Blanks of a saved prompt. They appear as {{ name }}, are visited with Tab, and must be filled in or removed before
// sending.

import { signal } from "@preact/signals";
import type { PromptPiece } from "../../generated/portico/v1/agent_pb";

export interface PromptBlank {
  readonly start: number;
  readonly end: number;
  readonly name: string;
  readonly description: string;
}

export class PromptBlanks {
  /** Descriptions by placeholder. */
  readonly #known = signal<ReadonlyMap<string, Pick<PromptBlank, "name" | "description">>>(new Map());

  /** The text of a prompt, whose blanks are looked for from now on. */
  textOf(pieces: readonly PromptPiece[]): string {
    const known = new Map(this.#known.peek());
    const words = pieces.map(({ piece }) => {
      if (piece.case !== "blank") return piece.value ?? "";
      const { name, description } = piece.value;
      const mark = `{{ ${name} }}`;
      known.set(mark, { name, description });
      return mark;
    });
    this.#known.value = known;
    return words.join("");
  }

  /** The first one from a place on, or else from the beginning. */
  find(text: string, from = 0): PromptBlank | undefined {
    const found = [...this.#known.value].flatMap(([mark, about]) => placesOf(mark, text, about));
    found.sort((one, other) => one.start - other.start);
    return found.find(({ start }) => start >= from) ?? found[0];
  }
}

function placesOf(
  mark: string,
  text: string,
  about: Pick<PromptBlank, "name" | "description">,
): PromptBlank[] {
  const places: PromptBlank[] = [];
  for (let start = text.indexOf(mark); start >= 0; start = text.indexOf(mark, start + mark.length))
    places.push({ start, end: start + mark.length, ...about });
  return places;
}
