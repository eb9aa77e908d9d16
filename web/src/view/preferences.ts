// Preferences of this page, shared as signals.

import { signal, type Signal } from "@preact/signals";
import type { Memory } from "../gateway/gateway";

export type SendKey = "enter" | "ctrl_enter";
export type Theme = "system" | "light" | "dark";

export interface Preferences {
  readonly showThinking: Signal<boolean>;
  readonly sendKey: Signal<SendKey>;
  readonly theme: Signal<Theme>;
  /** Both sides of a change beside each other, where there is room. */
  readonly splitDiffs: Signal<boolean>;
  /** Notifications about sessions: one while the page is hidden, and a sound. */
  readonly announcements: Readonly<Record<NoticeKind, Announcement>>;
}

export type NoticeKind = "asks" | "ended" | "failed";

export interface Announcement {
  readonly notification: Signal<boolean>;
  readonly sound: Signal<boolean>;
}

const known = new WeakMap<Memory, Preferences>();

/** The one set of preferences that goes with a memory. */
export function preferencesOf(memory: Memory): Preferences {
  const before = known.get(memory);
  if (before !== undefined) return before;
  const preferences: Preferences = {
    showThinking: remembered(memory, "showThinking", [false, true]),
    sendKey: remembered<SendKey>(memory, "sendKey", ["enter", "ctrl_enter"]),
    theme: remembered<Theme>(memory, "theme", ["system", "light", "dark"]),
    splitDiffs: remembered(memory, "splitDiffs", [true, false]),
    announcements: {
      asks: announcement(memory, "asks"),
      ended: announcement(memory, "ended"),
      failed: announcement(memory, "failed"),
    },
  };
  known.set(memory, preferences);
  return preferences;
}

function announcement(memory: Memory, kind: NoticeKind): Announcement {
  // There was one switch for all notifications once; what was chosen there holds.
  const before = memory.get("notify") === true;
  return {
    notification: remembered(memory, `notify ${kind}`, [before, !before]),
    sound: remembered(memory, `sound ${kind}`, [false, true]),
  };
}

/** The first of the values it may have holds until the person chooses another. */
function remembered<Value extends string | boolean>(
  memory: Memory,
  key: string,
  values: readonly [Value, ...Value[]],
): Signal<Value> {
  const kept = memory.get(key);
  const value = signal<Value>(values.find((one) => one === kept) ?? values[0]);
  value.subscribe((now) => {
    if (memory.get(key) !== now) memory.set(key, now);
  });
  return value;
}
