// Names of keys on this machine.

export const IS_MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);
export const CHORD = IS_MAC ? "⌘⌥" : "Ctrl+Alt+";
export const AUTO_ACCEPT_KEYS = `${CHORD}E`;
