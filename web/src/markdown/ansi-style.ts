// Styles of terminal text: SGR codes folded into small shared values.

/** One of the sixteen colours of the theme, or a colour of its own as CSS. */
export type TerminalColor = number | string;

export interface TerminalStyle {
  readonly foreground: TerminalColor | undefined;
  readonly background: TerminalColor | undefined;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly inverse: boolean;
  readonly strike: boolean;
}

export const PLAIN_STYLE: TerminalStyle = Object.freeze({
  foreground: undefined,
  background: undefined,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false,
  strike: false,
});

const SWITCHES: ReadonlyMap<number, Partial<TerminalStyle>> = new Map<number, Partial<TerminalStyle>>([
  [0, PLAIN_STYLE],
  [1, { bold: true }],
  [2, { dim: true }],
  [3, { italic: true }],
  [4, { underline: true }],
  [7, { inverse: true }],
  [9, { strike: true }],
  [21, { underline: true }],
  [22, { bold: false, dim: false }],
  [23, { italic: false }],
  [24, { underline: false }],
  [27, { inverse: false }],
  [29, { strike: false }],
  [39, { foreground: undefined }],
  [49, { background: undefined }],
]);

/** The style after the parameters of one such code, for example "1;38;5;208". */
export function applySgr(style: TerminalStyle, parameters: string): TerminalStyle {
  let next = style;
  const groups = parameters.split(";");
  for (let index = 0; index < groups.length; index += 1) {
    const parts = (groups[index] ?? "").split(":").map(Number);
    const code = parts[0] ?? 0;
    if (code === 38 || code === 48) {
      const inside = parts.length > 1;
      const values = inside ? parts.slice(1) : groups.slice(index + 1, index + 5).map(Number);
      const color = extendedColor(values, inside);
      next = code === 38 ? { ...next, foreground: color } : { ...next, background: color };
      index += inside ? 0 : values[0] === 2 ? 4 : 2;
    } else if (code === 4 && parts[1] === 0) {
      next = { ...next, underline: false };
    } else {
      next = { ...next, ...(SWITCHES.get(code) ?? themeColor(code)) };
    }
  }
  return shared(next);
}

function themeColor(code: number): Partial<TerminalStyle> {
  if (code >= 30 && code <= 37) {
    return { foreground: code - 30 };
  }
  if (code >= 40 && code <= 47) {
    return { background: code - 40 };
  }
  if (code >= 90 && code <= 97) {
    return { foreground: code - 82 };
  }
  return code >= 100 && code <= 107 ? { background: code - 92 } : {};
}

/** "5;n" from the palette of 256, "2;r;g;b" as it is; the form with colons may name a colour space first. */
function extendedColor(values: readonly number[], withColons: boolean): TerminalColor | undefined {
  if (values[0] === 5) {
    return paletteColor(values[1] ?? 0);
  }
  if (values[0] === 2) {
    const [red = 0, green = 0, blue = 0] =
      withColons && values.length > 4 ? values.slice(2) : values.slice(1);
    return rgb(red, green, blue);
  }
  return undefined;
}

function paletteColor(index: number): TerminalColor | undefined {
  if (!(index >= 0 && index <= 255)) {
    return undefined;
  }
  if (index < 16) {
    return index;
  }
  if (index >= 232) {
    const gray = 8 + 10 * (index - 232);
    return rgb(gray, gray, gray);
  }
  const level = (step: number): number => (step === 0 ? 0 : 55 + 40 * step);
  const cube = index - 16;
  return rgb(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

function rgb(...channels: [number, number, number]): string {
  return `rgb(${channels.map((value) => Math.min(255, Math.max(0, Math.trunc(value) || 0))).join(" ")})`;
}

/** Colours to paint with; "text" and "back" are those of the page. */
export interface TerminalColors {
  readonly foreground: TerminalColor | undefined;
  readonly background: TerminalColor | undefined;
}

/** The colours of a style. Gray and uncoloured text on a coloured ground gets the colour that can be read there. */
export function colorsOf(style: TerminalStyle): TerminalColors {
  const { foreground, background } = style.inverse
    ? { foreground: style.background ?? "back", background: style.foreground ?? "text" }
    : style;
  if (background === undefined || background === "text" || !isNeutral(foreground)) {
    return { foreground, background };
  }
  return { foreground: typeof background === "number" ? "back" : contrastTo(background), background };
}

function isNeutral(color: TerminalColor | undefined): boolean {
  return [undefined, "back", 0, 7, 8, 15].includes(color);
}

function contrastTo(background: string): string {
  const [red = 0, green = 0, blue = 0] = (background.match(/\d+/g) ?? []).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? rgb(0, 0, 0) : rgb(255, 255, 255);
}

// Equal styles are one object, so that neighbours can be compared by identity.
const known = new Map<string, TerminalStyle>([[JSON.stringify(PLAIN_STYLE), PLAIN_STYLE]]);
const MOST_KNOWN = 4_096;

function shared(style: TerminalStyle): TerminalStyle {
  const key = JSON.stringify(style);
  const same = known.get(key);
  if (same !== undefined) {
    return same;
  }
  if (known.size < MOST_KNOWN) {
    known.set(key, Object.freeze(style));
  }
  return style;
}
