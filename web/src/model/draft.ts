// The draft of a session: stored locally at every key, at the server soon after, and never replaced while the user
// types.

import { signal, type Signal } from "@preact/signals";
import type { DraftStore } from "../gateway/gateway";
import type { Cancel, Environment } from "../gateway/environment";
import type { Desk } from "../generated/portico/v1/agent_pb";
import { isLost } from "./call-failure";

/** Delay after the last key before the text is sent. */
const PAUSE = 200;
/** While keys keep coming. */
const LONGEST_UNSAVED = 1_000;
/** Pause after which typing has ended, here and in another window that could not see these words yet. */
const QUIET = 1_500;
const FIRST_RETRY = 500;
const LONGEST_RETRY = 5_000;

export interface DraftPorts {
  readonly environment: Environment;
  readonly store: DraftStore;
  readonly storeKey: string;
  readonly clientId: string;
  /** Resolves when the server has the words. */
  save(text: string): Promise<void>;
  /** The last event of the session that is here. */
  lastSeq(): number;
  /** Whether the text was sent as a prompt after an event. */
  wasSent(text: string, afterSeq: number): boolean;
  /** Whether the text is on its way to the server as a prompt. */
  isSending(text: string): boolean;
}

/** Base of a stored text: the server's text at that time, and the last event of the session. */
interface DraftOrigin {
  readonly text: string;
  readonly seq: number;
}

export class Draft {
  /** Written by the composer, and from here when text comes from another window. */
  readonly text: Signal<string>;
  /** Text from another window, written at the same time; the person takes or drops it. */
  readonly conflict: Signal<string | undefined>;
  readonly #ports: DraftPorts;
  /** There was no local text, so the server's is kept. */
  readonly #blind: boolean;
  readonly #ends: Cancel[] = [];
  /** The server's text; undefined until it is known. */
  #atServer: string | undefined;
  /** The text being sent to the server. */
  #saving: string | undefined;
  #echoed = false;
  /** Another window wrote meanwhile; the server will report the final text. */
  #isUnclear = false;
  #dueAgain = false;
  #unsaved: boolean;
  #unsavedSince = 0;
  #lastKey = -Infinity;
  #lastSaved = -Infinity;
  #retryIn = FIRST_RETRY;
  /** Last text shown by this class; any other text was typed. */
  #seen: string;
  /** The server has text of another window, which does not replace what was typed here. */
  #isInConflict = false;
  #cancelSave: Cancel = () => undefined;
  #cancelSettle: Cancel = () => undefined;

  constructor(ports: DraftPorts) {
    this.#ports = ports;
    const kept = ports.store.get(ports.storeKey);
    this.#seen = kept ?? "";
    this.text = signal(this.#seen);
    this.conflict = signal(ports.store.get(conflictKey(ports)));
    this.#blind = kept === undefined;
    this.#unsaved = kept !== undefined;
  }

  /** Begins to follow what is typed. */
  open(): void {
    this.#ends.push(
      this.text.subscribe((text) => {
        if (text !== this.#seen) this.#typed(text);
      }),
      this.conflict.subscribe((words) => this.#ports.store.set(conflictKey(this.#ports), words)),
      this.#ports.environment.onLeave(() => this.#saveAtOnce()),
    );
  }

  close(): void {
    this.#saveAtOnce();
    this.#cancelSave();
    this.#cancelSettle();
    for (const end of this.#ends.splice(0)) end();
  }

  /** Receives the server's drafts, in the order of their revisions. */
  receive(drafts: Desk): void {
    if (drafts.clientId === this.#ports.clientId && drafts.draft === this.#saving) this.#echoed = true;
    const isNews = drafts.clientId !== this.#ports.clientId && drafts.draft !== this.#atServer;
    const isFirst = this.#atServer === undefined;
    this.#atServer = drafts.draft;
    if (isFirst) this.#mergeFirst(drafts.draft);
    else if (isNews) {
      this.#isUnclear = true;
      this.#compare(drafts.draft);
    }
    this.#settle();
  }

  /** Drops text that was sent as a prompt. Text typed after it stays. */
  sent(words: string): void {
    const now = this.text.peek().trimStart();
    if (!now.startsWith(words.trim())) return;
    const rest = now.slice(words.trim().length).trimStart();
    this.text.value = rest;
    if (rest !== this.#seen) this.#typed(rest);
    this.saveNow();
  }

  /** Saves unsaved text at once, after a save in progress. */
  saveNow(): void {
    if (this.#saving === undefined) this.#saveAtOnce();
    else this.#dueAgain = true;
  }

  #typed(text: string): void {
    const { environment, store, storeKey } = this.#ports;
    this.#seen = text;
    const now = environment.now();
    this.#lastKey = now;
    if (!this.#unsaved) this.#unsavedSince = now;
    this.#unsaved = true;
    this.#retryIn = FIRST_RETRY;
    // Before the text, because an editor may keep a copy of what is stored at any moment.
    if (this.#atServer !== undefined) this.#setOrigin({ text: this.#atServer, seq: this.#ports.lastSeq() });
    store.set(storeKey, text);
    if (this.conflict.peek() !== undefined && containsText(text, this.conflict.peek()))
      this.conflict.value = undefined;
    this.#saveIn(Math.min(PAUSE, this.#unsavedSince + LONGEST_UNSAVED - now));
  }

  /** Merges the server's first draft: text typed before it arrived is appended. */
  #mergeFirst(draft: string): void {
    if (!this.#unsaved) return;
    const mine = this.text.peek();
    if (this.#blind && draft !== "" && !mine.startsWith(draft)) {
      this.#adopt(`${draft}\n${mine}`);
      this.#ports.store.set(this.#ports.storeKey, this.text.peek());
    } else if (!this.#blind && this.#isOutdated(mine, draft)) {
      const isOldAtServer = this.#wasSent(mine) && draft.trim() === mine.trim();
      this.#unsaved = isOldAtServer;
      this.#adopt(isOldAtServer ? "" : draft);
      if (!isOldAtServer) return;
    } else if (!this.#blind && draft !== (this.#origin()?.text ?? "")) {
      this.#compare(draft);
    }
    if (this.#blind) this.#setOrigin({ text: draft, seq: this.#ports.lastSeq() });
    this.#saveIn(0);
  }

  /** Whether the stored text is an old copy, as editors store it every few seconds only. */
  #isOutdated(mine: string, draft: string): boolean {
    if (this.#lastKey !== -Infinity) return false;
    return this.#wasSent(mine) || (draft !== (this.#origin()?.text ?? "") && containsText(draft, mine));
  }

  #wasSent(mine: string): boolean {
    const origin = this.#origin();
    return origin !== undefined && this.#ports.wasSent(mine, origin.seq);
  }

  #origin(): DraftOrigin | undefined {
    try {
      return JSON.parse(this.#ports.store.get(originKey(this.#ports)) ?? "") as DraftOrigin;
    } catch {
      return undefined;
    }
  }

  #setOrigin(origin: DraftOrigin | undefined): void {
    this.#ports.store.set(originKey(this.#ports), origin && JSON.stringify(origin));
  }

  #dropStored(): void {
    this.#ports.store.set(this.#ports.storeKey, undefined);
    this.#setOrigin(undefined);
  }

  /** Shows another window's text beside the person's own, without replacing it. */
  #compare(theirs: string): void {
    const mine = this.text.peek();
    if (!this.#isInConflict && !this.#unsaved && this.#quietIn() <= 0) return;
    if (theirs.trim() === "") {
      if (this.#isInConflict) this.#resolveConflict();
    } else if (containsText(theirs, mine) || containsText(mine, theirs)) {
      this.#endConflict();
    } else {
      this.#isInConflict = true;
      this.conflict.value = theirs;
      this.#ports.store.set(this.#ports.storeKey, mine);
    }
  }

  /** The other window sent or dropped its text. */
  #resolveConflict(): void {
    this.#isInConflict = false;
    this.conflict.value = undefined;
    this.#unsaved = true;
    this.#saveIn(0);
  }

  /** Both windows end up with the same text, or one has both. */
  #endConflict(): void {
    if (this.#isInConflict && !this.#unsaved) this.#dropStored();
    this.#isInConflict = false;
  }

  /** Shows the server's text, unless that would lose typed text. */
  #settle(): void {
    this.#cancelSettle();
    const words = this.#atServer;
    if (words === undefined || this.#unsaved) return;
    if (words === this.text.peek()) this.#endConflict();
    if (this.#isInConflict || words === this.text.peek()) return;
    const quietIn = this.#quietIn();
    if (quietIn > 0) this.#cancelSettle = this.#ports.environment.after(quietIn, () => this.#settle());
    else this.#adopt(words);
  }

  #quietIn(): number {
    return Math.max(this.#lastKey, this.#lastSaved) + QUIET - this.#ports.environment.now();
  }

  #adopt(words: string): void {
    this.#seen = words;
    this.#dropStored();
    this.text.value = words;
  }

  #saveIn(milliseconds: number): void {
    this.#cancelSave();
    this.#cancelSave = this.#ports.environment.after(Math.max(0, milliseconds), () => this.saveNow());
  }

  #saveAtOnce(): void {
    const text = this.text.peek();
    if (!this.#unsaved || this.#atServer === undefined || this.#saving === text) return;
    // A draft that reaches the server behind its prompt would come back as a draft.
    if (!this.#ports.isSending(text)) void this.#save();
  }

  async #save(): Promise<void> {
    const text = this.text.peek();
    this.#cancelSave();
    this.#saving = text;
    this.#echoed = false;
    this.#isUnclear = false;
    this.#dueAgain = false;
    this.#unsavedSince = this.#ports.environment.now();
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
    this.#lastSaved = this.#ports.environment.now();
    if (!this.#echoed && !this.#isUnclear) this.#atServer = text;
    if (this.text.peek() !== text) {
      if (this.#dueAgain) this.#saveAtOnce();
      return;
    }
    this.#unsaved = false;
    if (!this.#isInConflict) this.#dropStored();
    this.#settle();
  }

  #retry(): void {
    this.#saveIn(this.#retryIn);
    this.#retryIn = Math.min(LONGEST_RETRY, this.#retryIn * 2);
  }
}

function conflictKey({ storeKey }: DraftPorts): string {
  return `${storeKey} aside`;
}

function originKey({ storeKey }: DraftPorts): string {
  return `${storeKey} origin`;
}

/** Whether one text contains another. */
function containsText(words: string, others: string | undefined): boolean {
  return words.includes((others ?? "").trim());
}
