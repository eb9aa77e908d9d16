// Browser storage of the page: its own state, and text that the server does not have yet. Where storage is refused,
// both last as long as the page.

import type { Memory, DraftStore } from "./gateway";

const MEMORY_KEY = "portico";
const MEMORY_VERSION = 1;

export type KeyValueStore = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** All of it under one key, with a version: what an unknown version wrote is not read. */
export function createMemory(store: KeyValueStore | undefined): Memory {
  let values: Record<string, unknown> = {};
  const read = (): Record<string, unknown> => {
    try {
      const kept: unknown = JSON.parse(store?.getItem(MEMORY_KEY) ?? "null");
      return isKept(kept) ? kept.values : values;
    } catch {
      return values;
    }
  };
  return {
    get: (key) => read()[key],
    set(key, value) {
      values = { ...read(), [key]: value };
      try {
        store?.setItem(MEMORY_KEY, JSON.stringify({ version: MEMORY_VERSION, values }));
      } catch {
        // Full or forbidden: it is remembered until the page is closed.
      }
    },
  };
}

function isKept(kept: unknown): kept is { values: Record<string, unknown> } {
  if (typeof kept !== "object" || kept === null || !("version" in kept) || !("values" in kept)) return false;
  return kept.version === MEMORY_VERSION && typeof kept.values === "object" && kept.values !== null;
}

export function createDraftStore(store: KeyValueStore | undefined): DraftStore {
  const unstored = new Map<string, string>();
  return {
    get(key) {
      try {
        return unstored.get(key) ?? store?.getItem(`portico ${key}`) ?? undefined;
      } catch {
        return undefined;
      }
    },
    set(key, words) {
      unstored.delete(key);
      try {
        if (words === undefined) store?.removeItem(`portico ${key}`);
        else if (store === undefined) unstored.set(key, words);
        else store.setItem(`portico ${key}`, words);
      } catch {
        if (words !== undefined) unstored.set(key, words);
      }
    },
  };
}
