import { describe, expect, test } from "vitest";
import { linkTarget } from "../src/markdown/link-target";
import { blockHtml, noReferences } from "../src/markdown/parser";
import { spokenText } from "../src/markdown/spoken-text";
import { ATTACKS } from "./attacks";

function html(markdown: string): string {
  return blockHtml(markdown, noReferences());
}

describe("what an attacker writes", () => {
  test("comes in many forms here", () => {
    expect(ATTACKS.length).toBeGreaterThan(90);
  });

  test.each(ATTACKS.map(({ name, markdown }) => [name, markdown]))(
    "%s is text, even before it is sanitised",
    (_, markdown) => {
      const tags = [...html(markdown).matchAll(/<([a-z0-9]+)((?:\s+[a-z-]+(?:="[^"]*")?)*)>/gi)];
      const known =
        /^(?:a|blockquote|br|code|div|em|h[1-6]|hr|input|li|ol|p|pre|s|span|strong|table|tbody|td|th|thead|tr|ul)$/;
      for (const [, tag = "", attributes = ""] of tags) {
        expect(tag).toMatch(known);
        expect(attributes.replace(/"[^"]*"/g, "")).not.toMatch(
          /\s(?:on\w+|style|src|srcdoc|id|name|action|formaction)=/i,
        );
        const href = /href="([^"]*)"/.exec(attributes)?.[1];
        expect(href ?? "https://x").toMatch(/^(?:https?|mailto):/);
      }
      expect(html(markdown).replace(/<[^>]*>/g, "")).not.toContain("<");
    },
  );
});

describe("links", () => {
  test("lead to the web and to mail", () => {
    expect(html("[x](https://example.com/a?b=c)")).toContain('href="https://example.com/a?b=c"');
    expect(html("see https://example.com/a.")).toContain('<a href="https://example.com/a"');
    expect(html("<mailto:a@example.com>")).toContain('href="mailto:a@example.com"');
    expect(html("[x](http://localhost:8080)")).toContain('rel="noopener noreferrer"');
  });

  test("are not made from words that only look like addresses", () => {
    for (const word of [
      "README.md",
      "main.py",
      "git@github.com:a/b",
      "127.0.0.1",
      "src/app.ts:12",
      "www.example.com",
    ]) {
      expect(html(word)).toBe(`<p>${word}</p>\n`);
    }
  });

  test("to files name the file and the line, and are no links of the browser's", () => {
    expect(html("[app](src/app.ts#L12)")).toContain(
      '<span class="prose-path" data-path="src/app.ts" title="src/app.ts:12" data-line="12">app</span>',
    );
    expect(linkTarget("my%20file.py:7")).toEqual({ type: "file", path: "my file.py", line: 7 });
    expect(linkTarget("/abs/file.py")).toEqual({ type: "file", path: "/abs/file.py", line: undefined });
  });

  test("show where they lead", () => {
    expect(html('[bank](https://evil.test "Your bank")')).toContain('title="Your bank\nhttps://evil.test"');
  });
});

describe("Markdown", () => {
  test("shows pictures as links, because fetching one tells its owner who reads", () => {
    const shown = html("![a *chart*](https://example.com/chart.png)");
    expect(shown).toContain('class="prose-image">a chart</a>');
    expect(shown).not.toContain("<img");
  });

  test("shows tasks as boxes that say whether they are done", () => {
    const shown = html("- [ ] one\n- [x] two\n- [y] three");
    expect(shown).toContain(
      '<li class="task"><input type="checkbox" disabled="" aria-label="Not done"> one</li>',
    );
    expect(shown).toContain('aria-label="Done" checked=""> two');
    expect(shown).toContain("<li>[y] three</li>");
  });

  test("keeps the lines that someone wrote", () => {
    expect(html("one\ntwo")).toBe("<p>one<br>\ntwo</p>\n");
  });

  test.each(["<br>", "<br/>", "<br />", "<BR>", " <br> "])("begins a new line at %j", (tag) => {
    expect(html(`one${tag}two`)).toBe("<p>one<br>\ntwo</p>\n");
    expect(html(`one${tag}\ntwo`)).toBe("<p>one<br>\ntwo</p>\n");
    expect(html(`**one${tag}two**`)).toBe("<p><strong>one<br>\ntwo</strong></p>\n");
    expect(html(`a | b\n--|--\n1${tag}2 | 3`)).toContain("<td>1<br>\n2</td>\n<td>3</td>");
  });

  test("shows every other tag as it was written, and that one too where it is code or is escaped", () => {
    expect(html("one<hr>two")).toBe("<p>one&lt;hr&gt;two</p>\n");
    expect(html("one<br onclick=alert(1)>two")).toBe("<p>one&lt;br onclick=alert(1)&gt;two</p>\n");
    expect(html("`one<br>two`")).toBe("<p><code>one&lt;br&gt;two</code></p>\n");
    expect(html("- a\n\n  ```html\n  one<br>\n  ```")).toContain("one&lt;br&gt;\n</code>");
    expect(html("one\\<br>two")).toBe("<p>one&lt;br&gt;two</p>\n");
  });

  test("aligns tables without a style attribute, in a box of their own", () => {
    const shown = html("a | b\n--|--:\n1 | 2");
    expect(shown).toMatch(/^<div class="prose-table"[^>]*><table dir="auto">/);
    expect(shown).toContain('<td class="align-right">2</td>');
    expect(shown).not.toContain("style=");
  });

  test("reads in the order it is written, and shows in code what would change that", () => {
    expect(html("a\u202eb\u2066c")).toBe("<p>abc</p>\n");
    expect(html("a&#x202e;b")).toBe("<p>ab</p>\n");
    expect(html("`a\u202eb`")).toBe('<p><code>a<span class="control-mark">U+202E</span>b</code></p>\n');
  });
});

describe("Markdown that is read aloud", () => {
  test("has the words, and not the marks around them", () => {
    expect(spokenText("# Boats\n\n**Two** of [them](https://example.com), `ada` and<br>*bob*")).toBe(
      "Boats\nTwo of them, ada and\nbob",
    );
    expect(spokenText("- [x] caulk\n- paint\n\n> soon")).toBe(" caulk\npaint\nsoon");
    expect(spokenText("| a | b |\n|---|---|\n| 1 | 2 |")).toBe("a\nb\n1\n2");
    expect(spokenText("So:\n\n```py\nx = 1\n```\n\nDone.")).toBe("So:\n(code)\nDone.");
  });

  test("keeps every sign that means something", () => {
    const words = "if x > 3 and 2 * y < old_name | C# then issue #12";
    expect(spokenText(words)).toBe(words);
  });
});
