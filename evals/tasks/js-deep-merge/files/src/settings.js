import { merge } from "./merge.js";

export const DEFAULTS = {
  theme: { color: "blue", dark: false },
  plugins: ["spelling", "links"],
  width: 80,
};

/** The settings of a user, from the text of their file. */
export function loadSettings(text) {
  return merge(DEFAULTS, JSON.parse(text || "{}"));
}
