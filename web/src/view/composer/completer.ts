// Completions at the caret: commands, saved prompts and files. Late answers are dropped.

import { signal } from "@preact/signals";
import type { KeptPrompt } from "../../generated/portico/v1/agent_pb";
import type { Command } from "../../generated/portico/v1/events_pb";
import { rankCandidates, matchedLetters, triggerAt, type Trigger } from "./completion-trigger";
import { indexAfterKey } from "./list-navigation";
import { mentionText } from "./mentions";

const PAUSE_MS = 60;

export interface Completion {
  readonly kind: "command" | "prompt" | "file";
  readonly name: string;
  /** Letters of the name that match the typed text. */
  readonly matched: readonly number[];
  readonly description: string;
  readonly hint: string;
  /** Reason why it cannot be used; empty if it can. */
  readonly problem: string;
}

export interface CompletionMenuState {
  readonly trigger: Trigger;
  readonly completions: readonly Completion[];
  readonly chosen: number;
  /** Newer letters are being looked for. */
  readonly searching: boolean;
}

export interface CompleterPorts {
  commands(): readonly Command[];
  /** Undefined, here and below, if the server does not answer. */
  listPrompts(): Promise<readonly KeptPrompt[] | undefined>;
  findFiles(query: string): Promise<readonly { path: string; matched: readonly number[] }[] | undefined>;
  /** Puts a completion into the text. */
  insert(start: number, end: number, text: string): void;
  picked(path: string): void;
  /** Puts a kept prompt in the place of all that stands there. */
  usePrompt(name: string): void;
}

export class Completer {
  readonly menu = signal<CompletionMenuState | undefined>(undefined);
  readonly #ports: CompleterPorts;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #search = 0;
  /** Prompts as last listed. */
  #prompts: readonly KeptPrompt[] = [];
  /** The text after a slash, whether anything matches or not. */
  #command: Trigger | undefined;
  /** The person has closed the menu of what begins here. */
  #dismissed: number | undefined;
  /** Accepts the selection as soon as it is found. */
  #eager = false;

  constructor(ports: CompleterPorts) {
    this.#ports = ports;
  }

  /** The text or the caret has changed. */
  look(text: string, caret: number): void {
    const trigger = triggerAt(text, caret);
    if (trigger?.start !== this.#dismissed) this.#dismissed = undefined;
    if (trigger === undefined || this.#dismissed !== undefined) {
      this.#hide();
      return;
    }
    const open = this.menu.peek();
    if (open?.trigger.kind === trigger.kind && open.trigger.query === trigger.query) return;
    this.#eager = false;
    if (trigger.kind === "command") this.#beginCommand(trigger);
    else this.#offerFiles(trigger);
  }

  /** The agent has other commands. An open menu offers them, and keeps the choice that the user has made. */
  updateCommands(): void {
    const menu = this.menu.peek();
    if (this.#command === undefined || menu === undefined) return;
    this.#offerCommands(this.#command, menu.chosen > 0 ? menu.completions[menu.chosen] : undefined);
  }

  /** Closes the menu, and keeps it closed for the word it was about. */
  dismiss(): void {
    this.#dismissed = this.menu.peek()?.trigger.start;
    this.#hide();
  }

  /** The field has lost the focus. */
  leave(): void {
    this.#hide();
  }

  /** Whether the key was for the menu. */
  takesKey(key: string): boolean {
    const menu = this.menu.peek();
    if (menu === undefined) return false;
    if (key === "Escape") {
      this.dismiss();
      return true;
    }
    if (key === "Enter" || key === "Tab") return this.#accept(menu, key);
    if (menu.completions.length === 0 || key === "Home" || key === "End") return false;
    const chosen = indexAfterKey(key, menu.completions.length, menu.chosen);
    if (chosen === undefined) return false;
    this.menu.value = { ...menu, chosen };
    return true;
  }

  choose(place: number): void {
    const menu = this.menu.peek();
    if (menu !== undefined && menu.chosen !== place) this.menu.value = { ...menu, chosen: place };
  }

  acceptAt(place: number): void {
    const menu = this.menu.peek();
    if (menu !== undefined) this.#take(menu, place);
  }

  #accept(menu: CompletionMenuState, key: "Enter" | "Tab"): boolean {
    if (menu.searching) {
      this.#eager = true;
      return true;
    }
    const offer = menu.completions[menu.chosen];
    const complete = offer?.kind === "command" && offer.name === menu.trigger.query;
    if (offer === undefined || (key === "Enter" && complete)) {
      this.#hide();
      return false;
    }
    this.#take(menu, menu.chosen);
    return true;
  }

  #take({ trigger, completions }: CompletionMenuState, place: number): void {
    const offer = completions[place];
    if (offer === undefined) return;
    this.#hide();
    if (offer.kind === "prompt") {
      this.#ports.usePrompt(offer.name);
      return;
    }
    const isFile = offer.kind === "file";
    if (isFile) this.#ports.picked(offer.name);
    this.#ports.insert(trigger.start, trigger.end, `${isFile ? mentionText(offer.name) : `/${offer.name}`} `);
  }

  /** Prompts are looked for anew each time that a slash is typed, because files change. */
  #beginCommand(trigger: Trigger): void {
    this.#stopSearch();
    const isFirst = this.#command === undefined;
    this.#command = trigger;
    this.#offerCommands(trigger);
    if (isFirst) void this.#findPrompts();
  }

  async #findPrompts(): Promise<void> {
    const prompts = await this.#ports.listPrompts();
    if (prompts === undefined) return;
    this.#prompts = prompts;
    const menu = this.menu.peek();
    if (this.#command !== undefined) this.#offerCommands(this.#command, menu?.completions[menu.chosen]);
  }

  #offerCommands(trigger: Trigger, chosen?: Completion): void {
    const all: Omit<Completion, "matched">[] = [
      ...this.#ports.commands().map((one) => ({ kind: "command" as const, problem: "", ...one })),
      ...this.#prompts.map((one) => ({ kind: "prompt" as const, hint: "", ...one })),
    ];
    const completions = rankCandidates(all, trigger.query).map(
      ({ kind, name, description, hint, problem }): Completion => ({
        kind,
        name,
        matched: matchedLetters(name, trigger.query),
        description,
        hint,
        problem,
      }),
    );
    const place = completions.findIndex((one) => one.kind === chosen?.kind && one.name === chosen.name);
    this.menu.value =
      completions.length === 0
        ? undefined
        : { trigger, completions, chosen: Math.max(place, 0), searching: false };
  }

  #offerFiles(trigger: Trigger): void {
    this.#stopSearch();
    this.#command = undefined;
    const open = this.menu.peek();
    if (open?.trigger.kind === "file") this.menu.value = { ...open, trigger, searching: true };
    else this.menu.value = { trigger, completions: [], chosen: 0, searching: true };
    const search = this.#search;
    this.#timer = setTimeout(() => void this.#find(trigger, search), PAUSE_MS);
  }

  async #find(trigger: Trigger, search: number): Promise<void> {
    const files = await this.#ports.findFiles(trigger.query);
    if (search !== this.#search) return;
    if (files === undefined) {
      this.#hide();
      return;
    }
    const completions = files.map(({ path, matched }): Completion => {
      return { kind: "file", name: path, matched, description: "", hint: "", problem: "" };
    });
    const menu: CompletionMenuState = { trigger, completions, chosen: 0, searching: false };
    this.menu.value = menu;
    if (this.#eager) this.#take(menu, 0);
    this.#eager = false;
  }

  #hide(): void {
    this.#stopSearch();
    this.#eager = false;
    this.#command = undefined;
    this.menu.value = undefined;
  }

  #stopSearch(): void {
    clearTimeout(this.#timer);
    this.#search++;
  }
}
