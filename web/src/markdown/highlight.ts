// Syntax highlighting: text in, coloured runs out. Knows no DOM.

import type { Emitter, HLJSApi } from "highlight.js";
import core from "highlight.js/lib/core";
import { LANGUAGES, ALIASES } from "./highlight-languages";

/** Text of one colour. The name is a class of style/code.css, or empty for plain text. */
export interface ColorRun {
  readonly color: string;
  readonly text: string;
}

export interface Highlighted {
  readonly runs: readonly ColorRun[];
  /** The code ended outside every string, comment and the like, so the next line can begin afresh. */
  readonly complete: boolean;
}

/** The highlighter's classes mapped to our colours. Others keep the colour around them. */
const COLORS: Readonly<Record<string, string>> = {
  addition: "hl-addition",
  attr: "hl-property",
  attribute: "hl-property",
  bullet: "hl-keyword",
  built_in: "hl-type",
  char: "hl-string",
  class: "hl-type",
  code: "hl-string",
  comment: "hl-comment",
  deletion: "hl-deletion",
  doctag: "hl-keyword",
  emphasis: "hl-emphasis",
  formula: "hl-string",
  keyword: "hl-keyword",
  link: "hl-string",
  literal: "hl-number",
  meta: "hl-meta",
  name: "hl-tag",
  number: "hl-number",
  property: "hl-property",
  quote: "hl-comment",
  regexp: "hl-regexp",
  section: "hl-heading",
  "selector-attr": "hl-property",
  "selector-class": "hl-tag",
  "selector-id": "hl-tag",
  "selector-pseudo": "hl-property",
  "selector-tag": "hl-tag",
  string: "hl-string",
  strong: "hl-strong",
  subst: "",
  symbol: "hl-number",
  "template-tag": "hl-keyword",
  "template-variable": "hl-variable",
  title: "hl-function",
  "title.class": "hl-type",
  type: "hl-type",
  variable: "hl-variable",
  "variable.language": "hl-keyword",
};

let highlighter: HLJSApi | undefined;

/** Whether code of this language can be coloured. */
export function canHighlight(language: string): boolean {
  return language !== "" && prepared().getLanguage(language) !== undefined;
}

/** Colours whole lines, taking them for the beginning of a program. */
export function highlight(code: string, language: string): Highlighted {
  const engine = prepared();
  const result = engine.highlight(code, { language, ignoreIllegals: true });
  return {
    runs: (result._emitter as RunEmitter).runs,
    complete: result._top === engine.getLanguage(language),
  };
}

function prepared(): HLJSApi {
  if (highlighter === undefined) {
    highlighter = core.newInstance();
    highlighter.configure({ __emitter: RunEmitter });
    for (const [name, language] of Object.entries(LANGUAGES)) {
      highlighter.registerLanguage(name, language);
    }
    for (const [alias, name] of Object.entries(ALIASES)) {
      highlighter.registerAliases(alias, { languageName: name });
    }
  }
  return highlighter;
}

/** Collects runs instead of writing HTML, so that nothing has to be parsed or trusted afterwards. */
class RunEmitter implements Emitter {
  readonly runs: ColorRun[] = [];
  readonly #colors: string[] = [""];

  startScope(name: string): void {
    const color = COLORS[name] ?? COLORS[name.split(".", 1)[0] ?? ""];
    this.#colors.push(color ?? this.#colors.at(-1) ?? "");
  }

  endScope(): void {
    this.#colors.pop();
  }

  openNode(name: string): void {
    this.startScope(name);
  }

  closeNode(): void {
    this.endScope();
  }

  addText(text: string): void {
    if (text !== "") {
      this.#add({ color: this.#colors.at(-1) ?? "", text });
    }
  }

  __addSublanguage(emitter: Emitter): void {
    for (const run of (emitter as RunEmitter).runs) {
      this.#add(run);
    }
  }

  finalize(): void {
    this.#colors.length = 1;
  }

  toHTML(): string {
    return "";
  }

  #add(run: ColorRun): void {
    const last = this.runs.at(-1);
    if (last?.color === run.color) {
      this.runs[this.runs.length - 1] = { color: run.color, text: last.text + run.text };
    } else {
      this.runs.push(run);
    }
  }
}
