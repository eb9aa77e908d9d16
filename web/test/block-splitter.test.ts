import { describe, expect, test } from "vitest";
import type { MarkdownBlock } from "../src/markdown/block";
import { BlockSplitter } from "../src/markdown/block-splitter";
import { blockHtml, languageOf, noReferences, parser, type References } from "../src/markdown/parser";
import type { SplitLimits } from "../src/markdown/split-points";
import { Random } from "./random";

/** A busy machine may need this long. */
const PATIENCE_MS = 60_000;

/** Lines and parts of lines that mean something to Markdown, in any order. */
const PARTS = [
  "word", "two words", "a|b", "| a | b |", "---|---", "|---|:-:|", "| 1 | 2 |", "---", "===", "***", "- ", "- item",
  "  - nested", "    indented", "\tindented", "* star", "+ plus", "1. one", "2. two", "7) seven", "> quote", ">> deep",
  "> - in quote", "```", "````", "```js", "~~~", "  ```", " ~~~ sh", "- ```", "  code", "# head", "#", "###### six",
  "[foo]: /url", "[foo]: <a b> 'title'", "[bar]:", "/target", "'title", "more'", "[foo]", "[text][bar]", "[foo][]",
  "![img](x.png)", "<div>", "</div>", "<!-- c -->", "`code`", "**bold**", "*it", "- [ ] todo", "- [x] done", "title: x",
  "https://example.com", "\\", "&amp;", "\u202e", "é", "😀",
]; // prettier-ignore
const ENDS = ["\n", "\n", "\n", "\n\n", "\n\n", " ", "", "\r\n", "\r", "  \n", "\n\n\n"];

function randomText(random: Random, parts: number): string {
  return Array.from({ length: parts }, () => random.pick(PARTS) + random.pick(ENDS)).join("");
}

function splitter(pieces: readonly string[], limits?: SplitLimits): BlockSplitter {
  const result = new BlockSplitter(limits);
  for (const [index, piece] of pieces.entries()) {
    result.append(piece);
    if (index % 7 === 6) {
      result.end();
    }
  }
  result.end();
  return result;
}

function html(blocks: readonly MarkdownBlock[], references: References): string {
  return blocks
    .map((block) => {
      if (block.type === "text") {
        return blockHtml(block.source, references, block.start);
      }
      const fence = parser.parse("```\n```", {});
      Object.assign(fence[0] ?? {}, {
        info: languageOf(block.info),
        content: block.pieces.join("") + block.tail,
      });
      return parser.renderer.render(fence, parser.options, {});
    })
    .join("");
}

function finished(split: BlockSplitter): string {
  return html(split.blocks, split.lateReferences().references);
}

/** Where a later line changes what an earlier one means, or looks as if it did. */
const DOCUMENTS = [
  "[a]: /url\n'title\nmore'\n\n[a]\n",
  "[a]: /url\n'title\nnever closed\n\n[a]\n",
  "[a]:\n/url\n\n[a]\n\n[a]: /other\n",
  "[a]: /url\n    'title'\n[b]: /url2\n# head\n",
  "see [late]\n\n> [late]: https://late.test\n",
  "paragraph\nheading\n===\nmore\n---\nend\n",
  "paragraph\n- item\n- item\n\n  loose\n- item\n\nend\n",
  "1. one\n   ```js\n   code\n\n   more\n   ```\n2. two\n\n\n3. three\n",
  "- a\n\n\n- b\n* c\n+ d\n1) e\n1. f\n",
  "````\n```\ninner\n```\n````\nafter\n",
  "  ~~~ sh\n  a\n\tb\n    c\n ~~~~  \nafter\n",
  "```js `not a fence`\ntext\n",
  "text\na | b\n--|--\n1 | 2\nthree\n\nend\n",
  "~~~a|b\n|---|---|\n| 1 | 2 |\n",
  "~~~a|b\ncode\n~~~\n",
  "---\ntitle: x\n---\nbody\n",
  "<div>\n\n*text*\n\n</div>\n<!-- a\n\nb -->\n",
  "> quote\nlazy\n\n> other\n>\n> - a\n> - b\n",
  "    indented\n\n\n    more\ntext\n    not code\n",
  "a\r\nb\rc\r\n\r\nd\r",
  "#\n#no\n# yes #\n####### no\n",
  "***\n* * *\n***bold***\n",
  "- [ ] a\n- [x] b\n",
  "\0 \t\n\u00a0\n\n   \nx",
];

describe("a text that arrives in pieces", () => {
  test.each(DOCUMENTS)("%j looks as if it had come at once, letter by letter and cut anywhere", (text) => {
    const whole = parser.render(text, {});
    expect(finished(splitter(Array.from(text)))).toBe(whole);
    expect(finished(splitter(text.split(/(?<=\n)/)))).toBe(whole);
    for (let cut = 0; cut < text.length; cut += 1) {
      expect(finished(splitter([text.slice(0, cut), text.slice(cut)]))).toBe(whole);
    }
  });

  test(
    "looks in the end as if it had come at once",
    () => {
      for (let seed = 0; seed < 1_500; seed += 1) {
        const random = new Random(seed);
        const text = randomText(random, 1 + random.below(14));
        const pieces = random.cut(text, 1 + random.below(12));
        expect(finished(splitter(pieces)), `seed ${seed}: ${JSON.stringify(text)}`).toBe(
          parser.render(text, {}),
        );
      }
    },
    PATIENCE_MS,
  );

  test(
    "is cut at the same places when it is too long for one block, however it arrives",
    () => {
      const small: SplitLimits = { soft: 24, hard: 90, line: 30 };
      for (let seed = 0; seed < 1_500; seed += 1) {
        const random = new Random(seed + 10_000);
        const text = randomText(random, 5 + random.below(40));
        const whole = splitter([text], small);
        const parts = splitter(random.cut(text, 1 + random.below(20)), small);
        const comparable = (split: BlockSplitter): unknown[] =>
          split.blocks.map((block) =>
            block.type === "text" ? block : { ...block, pieces: block.pieces.join("") },
          );
        expect(comparable(parts), `seed ${seed}: ${JSON.stringify(text)}`).toEqual(comparable(whole));
      }
    },
    PATIENCE_MS,
  );

  test(
    "never changes a block that was settled",
    () => {
      for (let seed = 0; seed < 300; seed += 1) {
        const random = new Random(seed + 20_000);
        const split = new BlockSplitter();
        const seen: string[] = [];
        for (const piece of random.cut(randomText(random, 12), 9)) {
          const first = split.append(piece);
          expect(first).toBe(seen.length);
          for (let index = seen.length; index < split.settled; index += 1) {
            seen.push(JSON.stringify(split.blocks[index]));
          }
          expect(split.blocks.slice(0, split.settled).map((block) => JSON.stringify(block))).toEqual(seen);
        }
      }
    },
    PATIENCE_MS,
  );
});

describe("a giant block", () => {
  const giants: Record<string, (index: number) => string> = {
    "of code": (index) => (index === 0 ? "```python\n" : `line ${index}\n`),
    "that is one line of code": (index) => (index === 0 ? "```json\n" : `"key ${index}": `),
    "that is one paragraph": (index) => `line ${index} of it\n`,
    "that is one line": (index) => `word ${index} `,
    "that is one word": () => "x".repeat(20),
    "that is a list": (index) => `- item ${index}\n`,
    "that is one item": (index) => (index === 0 ? "- " : `  line ${index}\n`),
    "that is a table": (index) => (index === 0 ? "a | b\n--|--\n" : `${index} | cell\n`),
    "that is a quotation": (index) => `> line ${index}\n`,
    "of link definitions": (index) => `[${index}]: https://x.test/${index}\n`,
  };

  test.each(Object.keys(giants))(
    "%s costs in proportion to its length",
    (name) => {
      const parse = parser.block.parse.bind(parser.block);
      const parsedFor = (pieces: number): number => {
        let parsed = 0;
        parser.block.parse = (source, ...rest) => {
          parsed += source.length;
          parse(source, ...rest);
        };
        const split = new BlockSplitter();
        for (let index = 0; index < pieces; index += 1) {
          split.append(giants[name]?.(index) ?? "");
        }
        split.end();
        parser.block.parse = parse;
        expect(split.blocks.every((block) => block.type === "code" || block.source.length <= 32_768)).toBe(
          true,
        );
        return parsed;
      };
      expect(parsedFor(12_000)).toBeLessThanOrEqual(2.3 * parsedFor(6_000) + 100_000);
    },
    PATIENCE_MS,
  );

  test("that is a table keeps its head in every piece", () => {
    const rows = Array.from({ length: 1_000 }, (_, index) => `| ${index} | value |\n`).join("");
    const { blocks } = splitter(["| number | note |\n|---|---|\n" + rows]);
    expect(blocks.length).toBeGreaterThan(1);
    const shown = html(blocks, noReferences());
    expect(shown.match(/<th>number<\/th>/g)?.length).toBe(blocks.length);
    expect(shown.match(/<td>\d+<\/td>/g)?.length).toBe(1_000);
  });

  test("that is a numbered list counts on in every piece", () => {
    const { blocks } = splitter(["1. a line of an item\n".repeat(1_000)]);
    const starts = blocks.map((block) => (block.type === "text" ? block.start : -1));
    expect(starts[0]).toBeUndefined();
    expect(starts[1]).toBe((html(blocks.slice(0, 1), noReferences()).match(/<li>/g)?.length ?? 0) + 1);
  });
});

describe("text that is still being written", () => {
  function shown(text: string): string {
    const split = new BlockSplitter();
    split.append(text);
    return html(split.blocks, split.references);
  }

  test("is not shown as something that it may not become", () => {
    expect(shown("a paragraph\n-")).toBe("<p>a paragraph</p>\n");
    expect(shown("a paragraph\n===")).toBe("<p>a paragraph</p>\n");
    expect(shown("a\n\n```py")).toBe("<p>a</p>\n");
    expect(shown("- [")).toBe("");
    expect(shown("| a | b |\n|--")).toBe("");
    expect(shown("```\ncode\n``")).toBe("<pre><code>code\n</code></pre>\n");
    for (const begun of ["<", "<b", "<br", "<br ", "<br/", "<br /"]) {
      expect(shown(`one${begun}`)).toBe("<p>one</p>\n");
      expect(shown(`a | b\n--|--\n1 | 2${begun}`)).toContain("<td>2</td>");
    }
  });

  test("is shown as far as it is certain", () => {
    expect(shown("- [x] don")).toContain('type="checkbox"');
    expect(shown("```js\nlet a")).toBe('<pre data-language="js"><code>let a</code></pre>\n');
    expect(shown("2024 was")).toBe("<p>2024 was</p>\n");
    expect(shown("1 < 2 <b>")).toBe("<p>1 &lt; 2 &lt;b&gt;</p>\n");
    expect(shown("```\na <br")).toBe("<pre><code>a &lt;br</code></pre>\n");
  });

  test("uses a link as soon as it is defined, and what came before uses it in the end", () => {
    const split = new BlockSplitter();
    split.append("see [a]\n\n[a]: https://a.test\n\nand [a]\n\n");
    const before = html(split.blocks, split.references);
    expect(before).toContain("<p>and <a");
    split.append("[b]\n\n[b]: https://b.test\n\nthe end");
    split.end();
    expect(split.lateReferences().blocks).toEqual([0, 3]);
    expect(finished(split)).toContain('<p>see <a href="https://a.test"');
  });
});
