import { describe, expect, test } from "vitest";
import { growsFrom } from "../src/markdown/text-growth";
import { canHighlight, highlight } from "../src/markdown/highlight";
import { LANGUAGES, ALIASES } from "../src/markdown/highlight-languages";

describe("colours of code", () => {
  test.each([...Object.keys(LANGUAGES), ...Object.keys(ALIASES)])("for %s lose no character", (language) => {
    const code =
      'class A { "text" /* c */ 42 }\n# x <b a="c">&amp;</b>\n\tdef f(): return `t`\n+ added\n- gone\n';
    expect(canHighlight(language)).toBe(true);
    expect(
      highlight(code, language)
        .runs.map((run) => run.text)
        .join(""),
    ).toBe(code);
  });

  test("are those of the innermost thing", () => {
    const { runs } = highlight('x = f"a{b}c"  # note\n', "python");
    expect(runs).toContainEqual({ color: "hl-string", text: 'f"a' });
    expect(runs).toContainEqual({ color: "", text: "{b}" });
    expect(runs).toContainEqual({ color: "hl-comment", text: "# note" });
  });

  test("say whether the next line can begin afresh", () => {
    expect(highlight("a = 1\n", "python").complete).toBe(true);
    expect(highlight('a = """text\n', "python").complete).toBe(false);
    expect(highlight("/* open\n", "c").complete).toBe(false);
    expect(highlight("<script>let a\n", "html").complete).toBe(false);
  });

  test("are missing for languages nobody knows", () => {
    expect(canHighlight("klingon")).toBe(false);
    expect(canHighlight("")).toBe(false);
    expect(canHighlight("constructor")).toBe(false);
  });
});

describe("a text", () => {
  const long = Array.from({ length: 2_000 }, (_, index) => `word ${index} `).join("");

  test("that goes on is told from another one", () => {
    expect(growsFrom("", "a", true)).toBe(true);
    expect(growsFrom("a", "ab", true)).toBe(true);
    expect(growsFrom("ab", "a", true)).toBe(false);
    expect(growsFrom(long, long + "more", true)).toBe(true);
    expect(growsFrom(long, "earlier " + long, true)).toBe(false);
  });

  test("that has ended is compared to the last letter", () => {
    const other = long.slice(0, 777) + "#" + long.slice(778);
    expect(growsFrom(long, other, false)).toBe(false);
  });
});
