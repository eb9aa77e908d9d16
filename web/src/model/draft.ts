// The person's words before they are sent. They are in the vault at every key, at the server soon
// after, and nobody takes them away while the person types.

import { signal, type Signal } from "@preact/signals";
import type { Vault } from "../gateway/types";
import type { Cancel, World } from "../gateway/world";
import type { Desk } from "../generated/portico/v1/agent_pb";
import { isLost } from "./failures";

/** After the last key; the server has the words a tenth of a second later, or is slow. */
const PAUSE = 200;
/** While keys keep coming. */
const LONGEST_UNSAVED = 1_000;
/**
 * A person who has not touched a key for so long is not typing, and nobody elsewhere still types what was
 * begun before the words from here could be seen there.
 */
const QUIET = 1_500;
const FIRST_RETRY = 500;
const LONGEST_RETRY = 5_000;

export interface DraftPorts {
  readonly world: World;
  readonly vault: Vault;
  readonly vaultKey: string;
  readonly clientId: string;
  /** Resolves when the server has the words. */
  save(text: string): Promise<void>;
}

export class Draft {
  /** Written by whoever types; also from here, when words come from elsewhere. */
  readonly text: Signal<string>;
  /** What else was written here, in another window at the same time; the person takes it or leaves it. */
  readonly aside: Signal<string | undefined>;
  readonly #ports: DraftPorts;
  /** There was nothing of ours to begin with, so what the server has is to be kept. */
  readonly #blind: boolean;
  readonly #ends: Cancel[] = [];
  /** What the server has, as far as is known; undefined until it has told. */
  #atServer: string | undefined;
  /** What is on its way to the server. */
  #saving: string | undefined;
  #echoed = false;
  /** Another window wrote meanwhile, before or after it: what the server has in the end it will tell. */
  #isUnclear = false;
  #dueAgain = false;
  #unsaved: boolean;
  #unsavedSince = 0;
  #lastKey = -Infinity;
  #lastSaved = -Infinity;
  #retryIn = FIRST_RETRY;
  /** What the person has seen; anything else in `text` is theirs. */
  #seen: string;
  /** The server has words of another window, which do not take the place of those that were typed here. */
  #holds = false;
  #due: Cancel = () => undefined;
  #calm: Cancel = () => undefined;

  constructor(ports: DraftPorts) {
    this.#ports = ports;
    const kept = ports.vault.get(ports.vaultKey);
    this.#seen = kept ?? "";
    this.text = signal(this.#seen);
    this.aside = signal(ports.vault.get(asideKey(ports)));
    this.#blind = kept === undefined;
    this.#unsaved = kept !== undefined;
  }

  /** Begins to follow what is typed. */
  open(): void {
    this.#ends.push(
      this.text.subscribe((text) => {
        if (text !== this.#seen) this.#typed(text);
      }),
      this.aside.subscribe((words) => this.#ports.vault.set(asideKey(this.#ports), words)),
      this.#ports.world.onLeave(() => this.#saveAtOnce()),
    );
  }

  close(): void {
    this.#saveAtOnce();
    this.#due();
    this.#calm();
    for (const end of this.#ends.splice(0)) end();
  }

  /** The desk at the server, whoever changed it. Desks come in the order of their revisions. */
  hear(desk: Desk): void {
    if (desk.clientId === this.#ports.clientId && desk.draft === this.#saving) this.#echoed = true;
    const isNews = desk.clientId !== this.#ports.clientId && desk.draft !== this.#atServer;
    if (this.#atServer === undefined) this.#meet(desk.draft);
    this.#atServer = desk.draft;
    if (isNews) {
      this.#isUnclear = true;
      this.#compare(desk.draft);
    }
    this.#settle();
  }

  /** The server has these words as a prompt, so they are a draft no more. What was typed behind them stays. */
  sent(words: string): void {
    const now = this.text.peek().trimStart();
    if (!now.startsWith(words.trim())) return;
    const rest = now.slice(words.trim().length).trimStart();
    this.text.value = rest;
    if (rest !== this.#seen) this.#typed(rest);
    this.saveNow();
  }

  /** Saves what is unsaved, without waiting for a pause; after what is being saved. */
  saveNow(): void {
    if (this.#saving === undefined) this.#saveAtOnce();
    else this.#dueAgain = true;
  }

  #typed(text: string): void {
    const { world, vault, vaultKey } = this.#ports;
    this.#seen = text;
    const now = world.now();
    this.#lastKey = now;
    if (!this.#unsaved) this.#unsavedSince = now;
    this.#unsaved = true;
    this.#retryIn = FIRST_RETRY;
    vault.set(vaultKey, text);
    if (this.aside.peek() !== undefined && has(text, this.aside.peek())) this.aside.value = undefined;
    this.#saveIn(Math.min(PAUSE, this.#unsavedSince + LONGEST_UNSAVED - now));
  }

  /** The server's first word. What was typed before it came goes behind what was there. */
  #meet(draft: string): void {
    if (!this.#unsaved) return;
    const mine = this.text.peek();
    if (this.#blind && draft !== "" && !mine.startsWith(draft)) {
      this.#adopt(`${draft}\n${mine}`);
      this.#ports.vault.set(this.#ports.vaultKey, this.text.peek());
    }
    this.#saveIn(0);
  }

  /** What another window wrote while the person writes here: neither takes the other's place. */
  #compare(theirs: string): void {
    const mine = this.text.peek();
    if (!this.#holds && !this.#unsaved && this.#quietIn() <= 0) return;
    if (theirs.trim() === "") {
      if (this.#holds) this.#goOnAlone();
    } else if (has(theirs, mine) || has(mine, theirs)) {
      this.#letGo();
    } else {
      this.#holds = true;
      this.aside.value = theirs;
      this.#ports.vault.set(this.#ports.vaultKey, mine);
    }
  }

  /** The other window has sent its words, or does not want them any more. */
  #goOnAlone(): void {
    this.#holds = false;
    this.aside.value = undefined;
    this.#unsaved = true;
    this.#saveIn(0);
  }

  /** Both windows have the same words in the end, or one has those of both. */
  #letGo(): void {
    if (this.#holds && !this.#unsaved) this.#ports.vault.set(this.#ports.vaultKey, undefined);
    this.#holds = false;
  }

  /** Shows what the server has, unless that takes something from the person. */
  #settle(): void {
    this.#calm();
    const words = this.#atServer;
    if (words === undefined || this.#unsaved) return;
    if (words === this.text.peek()) this.#letGo();
    if (this.#holds || words === this.text.peek()) return;
    const quietIn = this.#quietIn();
    if (quietIn > 0) this.#calm = this.#ports.world.after(quietIn, () => this.#settle());
    else this.#adopt(words);
  }

  #quietIn(): number {
    return Math.max(this.#lastKey, this.#lastSaved) + QUIET - this.#ports.world.now();
  }

  #adopt(words: string): void {
    this.#seen = words;
    this.#ports.vault.set(this.#ports.vaultKey, undefined);
    this.text.value = words;
  }

  #saveIn(milliseconds: number): void {
    this.#due();
    this.#due = this.#ports.world.after(Math.max(0, milliseconds), () => this.saveNow());
  }

  #saveAtOnce(): void {
    if (this.#unsaved && this.#atServer !== undefined && this.#saving !== this.text.peek()) void this.#save();
  }

  async #save(): Promise<void> {
    const text = this.text.peek();
    this.#due();
    this.#saving = text;
    this.#echoed = false;
    this.#isUnclear = false;
    this.#dueAgain = false;
    this.#unsavedSince = this.#ports.world.now();
    const outcome = await this.#ports.save(text).then(
      () => "saved",
      (reason: unknown) => (isLost(reason) ? "lost" : "refused"),
    );
    if (this.#saving !== text) return;
    this.#saving = undefined;
    if (outcome === "saved") this.#saved(text);
    else if (outcome === "lost" && this.#ends.length > 0) this.#retry();
  }

  #saved(text: string): void {
    this.#retryIn = FIRST_RETRY;
    this.#lastSaved = this.#ports.world.now();
    if (!this.#echoed && !this.#isUnclear) this.#atServer = text;
    if (this.text.peek() !== text) {
      if (this.#dueAgain) this.#saveAtOnce();
      return;
    }
    this.#unsaved = false;
    if (!this.#holds) this.#ports.vault.set(this.#ports.vaultKey, undefined);
    this.#settle();
  }

  #retry(): void {
    this.#saveIn(this.#retryIn);
    this.#retryIn = Math.min(LONGEST_RETRY, this.#retryIn * 2);
  }
}

function asideKey({ vaultKey }: DraftPorts): string {
  return `${vaultKey} aside`;
}

/** Whether the one is in the other, so that whoever has this has that. */
function has(words: string, others: string | undefined): boolean {
  return words.includes((others ?? "").trim());
}
