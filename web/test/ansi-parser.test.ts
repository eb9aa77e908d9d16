import { describe, expect, test } from "vitest";
import { AnsiParser, type TerminalLine } from "../src/markdown/ansi-parser";
import { colorsOf, PLAIN_STYLE, applySgr } from "../src/markdown/ansi-style";
import { Random } from "./random";

function read(...pieces: string[]): AnsiParser {
  const ansi = new AnsiParser();
  for (const piece of pieces) {
    ansi.append(piece);
  }
  return ansi;
}

function plain(lines: readonly TerminalLine[]): string {
  return lines.map((line) => line.map((span) => span.text).join("")).join("\n");
}

describe("what a program prints", () => {
  test.each([
    ["lines", "a\nb\n", "a\nb\n"],
    ["lines of Windows", "a\r\nb", "a\nb"],
    ["a progress bar", "10%\r50%\r100%", "100%"],
    ["a shorter line over a longer one", "downloading\rdone", "doneloading"],
    ["an erased rest of a line", "downloading\rdone\x1b[K", "done"],
    ["an erased line", "downloading\x1b[2K\rdone", "done"],
    ["an erased beginning", "abcdef\x1b[3D\x1b[1Kx", "   xef"],
    ["a spinner", "|\b/\b-\b\\", "\\"],
    ["a column", "abc\x1b[6Gd\x1b[1GA", "Abc  d"],
    ["words with gaps", "a\x1b[3Cb", "a   b"],
    ["a tab", "a\tb", "a\tb"],
    ["a bell and other controls", "a\x07\x00\x0eb\x7f", "ab"],
    ["a cleared screen and a moved cursor", "\x1b[2J\x1b[Ha\x1b[5Ab\x1b[?25l\x1b[?1049h", "ab"],
    ["a title", "\x1b]0;my title\x07a", "a"],
    ["a link", "see \x1b]8;;https://x.test\x1b\\here\x1b]8;;\x1b\\.", "see here."],
    ["an unfinished title on a line", "\x1b]0;title\na", "\na"],
    ["a device string", "\x1bPq#0;2;0\x1b\\a", "a"],
    ["a character set", "\x1b(Ba\x1b=b", "ab"],
    ["a lonely escape", "a\x1b", "a"],
  ])("with %s reads as it would in a terminal", (_, output, expected) => {
    expect(plain(read(output).lines)).toBe(expected);
  });

  test("goes on below when a line has no end", () => {
    const { lines } = read("x".repeat(10_000));
    expect(lines.length).toBe(3);
    expect(plain(lines).replaceAll("\n", "")).toBe("x".repeat(10_000));
  });

  test("is not lost when a title never ends", () => {
    expect(plain(read("\x1b]0;" + "word ".repeat(2_000)).lines)).toContain("word word");
  });

  test("reads the same however it was cut", () => {
    const parts = ["word", "\r", "\n", "\x1b[31m", "\x1b[0m", "\x1b[1;38;5;208m", "\x1b[K", "\x1b[2K", "\b", "\t", "😀",
      "\x1b]0;t\x07", "\x1b]8;;u\x1b\\", "\x1b[3D", "\x1b[4C", "\x1b[2G", "\x1b(B", "\x1b[48;2;1;2;3m", "é", " ", "\x1b[7m"]; // prettier-ignore
    for (let seed = 0; seed < 1_000; seed += 1) {
      const random = new Random(seed);
      const output = Array.from({ length: 40 }, () => random.pick(parts)).join("");
      const whole = read(output);
      const cut = read(...random.cut(output, 5));
      expect(cut.lines, `seed ${seed}: ${JSON.stringify(output)}`).toEqual(whole.lines);
    }
  });

  test("says which lines have changed", () => {
    const ansi = read("one\ntwo\nthr");
    expect(ansi.append("ee\nfour")).toBe(2);
    expect(ansi.append("!")).toBe(3);
  });
});

describe("colours", () => {
  function style(output: string): unknown {
    return read(output + "x")
      .lines.at(-1)
      ?.at(-1)?.style;
  }

  test.each([
    ["\x1b[31m", { foreground: 1 }],
    ["\x1b[92m", { foreground: 10 }],
    ["\x1b[44m", { background: 4 }],
    ["\x1b[103m", { background: 11 }],
    ["\x1b[38;5;9m", { foreground: 9 }],
    ["\x1b[38;5;208m", { foreground: "rgb(255 135 0)" }],
    ["\x1b[48;5;244m", { background: "rgb(128 128 128)" }],
    ["\x1b[38;2;1;2;300m", { foreground: "rgb(1 2 255)" }],
    ["\x1b[38:2::10:20:30m", { foreground: "rgb(10 20 30)" }],
    ["\x1b[38;5;1;4m", { foreground: 1, underline: true }],
    ["\x1b[1;3;4;7;9m", { bold: true, italic: true, underline: true, inverse: true, strike: true }],
    ["\x1b[1;2m\x1b[22m", { bold: false, dim: false }],
    ["\x1b[31;1m\x1b[39m", { foreground: undefined, bold: true }],
    ["\x1b[31;1m\x1b[m", { foreground: undefined, bold: false }],
    ["\x1b[38;7;31m", { foreground: undefined }],
    ["\x1b[>4;2m", { underline: false, dim: false }],
  ])("%j are understood", (output, expected) => {
    expect(style(output)).toMatchObject(expected);
  });

  test("are the same object when they are equal, so that runs can be joined", () => {
    expect(applySgr(applySgr(PLAIN_STYLE, "31"), "1")).toBe(applySgr(applySgr(PLAIN_STYLE, "1"), "31"));
    expect(applySgr(applySgr(PLAIN_STYLE, "31"), "0")).toBe(PLAIN_STYLE);
  });

  test("can be read on a coloured ground", () => {
    expect(colorsOf(applySgr(PLAIN_STYLE, "42;30"))).toEqual({ foreground: "back", background: 2 });
    expect(colorsOf(applySgr(PLAIN_STYLE, "48;2;10;20;30"))).toEqual({
      foreground: "rgb(255 255 255)",
      background: "rgb(10 20 30)",
    });
    expect(colorsOf(applySgr(PLAIN_STYLE, "7"))).toEqual({ foreground: "back", background: "text" });
    expect(colorsOf(applySgr(PLAIN_STYLE, "31;44"))).toEqual({ foreground: 1, background: 4 });
  });
});
