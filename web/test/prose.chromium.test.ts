// Markdown and terminals in real Chromium, under the content security policy of the page.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openPage, type OpenedPage } from "../bench/browser.mjs";
import type {} from "../bench/prose-page";
import { answer, terminalOutput } from "../bench/sample.mjs";
import { ATTACKS } from "./attacks";

let opened: OpenedPage;
let page: Page;

beforeAll(async () => {
  opened = await openPage("bench/prose-page.tsx", { minify: false });
  page = opened.page;
});
afterAll(() => opened.browser.close());
beforeEach(async () => {
  await page.evaluate(() => {
    window.bench.clear();
    window.followed.length = 0;
  });
});

function show(text: string): Promise<unknown> {
  return page.evaluate((markdown) => window.bench.showProse(markdown), text);
}

function stream(text: string, deltas: number): Promise<unknown> {
  return page.evaluate(([markdown, count]) => window.bench.streamProse(markdown, count, 1), [
    text,
    deltas,
  ] as const);
}

describe("an attack", () => {
  test("does nothing, neither in one piece nor while it arrives", async () => {
    const found = await page.evaluate((attacks) => {
      const tags =
        /^(?:A|BLOCKQUOTE|BR|BUTTON|CODE|DIV|EM|H[1-6]|HR|INPUT|LI|OL|P|PRE|S|SPAN|STRONG|TABLE|TBODY|TD|TH|THEAD|TR|UL)$/;
      const attributes =
        /^(?:aria-[a-z]+|checked|class|data-(?:language|line|path)|dir|disabled|href|rel|role|start|tabindex|title|type)$/;
      const bad: string[] = [];
      Object.assign(window, { attacked: () => bad.push("it ran") });
      const inspect = (name: string): void => {
        for (const element of document.querySelectorAll("#root *")) {
          if (!tags.test(element.tagName)) {
            bad.push(`${name}: <${element.tagName}>`);
          }
          for (const attribute of element.attributes) {
            const unsafe = attribute.name === "href" && !/^(?:https?|mailto):/.test(attribute.value);
            if (!attributes.test(attribute.name) || unsafe) {
              bad.push(`${name}: ${attribute.name}=${attribute.value}`);
            }
          }
        }
      };
      for (const { name, markdown } of attacks) {
        for (let end = 1; end <= markdown.length; end += 1) {
          window.bench.showNow(markdown.slice(0, end), true);
          inspect(name);
          window.bench.clear();
        }
        window.bench.showNow(markdown, false);
        inspect(name);
        for (const link of document.querySelectorAll<HTMLElement>("#root a, #root .prose-path")) {
          link.click();
        }
        window.bench.clear();
      }
      return { bad, followed: window.followed };
    }, ATTACKS);
    expect(found.bad).toEqual([]);
    expect(found.followed.filter((url) => !/^(?:https?:|mailto:|file )/.test(url))).toEqual([]);
    expect(found.followed).toContain("https://good.test/");
    expect(page.url()).toBe("http://localhost:1/");
    expect(opened.problems).toEqual([]);
  });
});

describe("an answer", () => {
  test("looks the same whether it was streamed or opened", async () => {
    const picture = (): Promise<string> =>
      page.evaluate(() => {
        const copy = document.querySelector("#root")?.cloneNode(true) as HTMLElement;
        for (const code of copy.querySelectorAll(".code-frame code")) {
          code.textContent = code.textContent;
        }
        return copy.innerHTML;
      });
    const text =
      answer(9_000) +
      "\nSee [the end][end] and [nothing].\n\n- ```js\n  let a = 1;\n  ```\n\n[end]: https://end.test";
    await stream(text, 300);
    const streamed = await picture();
    await page.evaluate(() => window.bench.clear());
    await show(text);
    expect(streamed).toBe(await picture());
    expect(streamed).toContain('href="https://end.test"');
    expect(streamed.length).toBeGreaterThan(9_000);
  });

  test("keeps the nodes of what is finished while more arrives", async () => {
    const kept = await page.evaluate(
      async (text) => {
        const half = text.slice(0, 3_000);
        window.bench.showNow(half, true);
        // It works for a part of a frame only, which on a busy machine is soon over.
        while (document.querySelector("#root [aria-busy]") !== null)
          await new Promise((resolve) => requestAnimationFrame(resolve));
        const before = [...document.querySelectorAll(".prose-block")].slice(0, -1);
        const inside = before.flatMap((block) => [...block.querySelectorAll("*")]);
        const changed: Node[] = [];
        const observer = new MutationObserver((records) =>
          changed.push(...records.map((record) => record.target)),
        );
        for (const block of before) {
          observer.observe(block, { childList: true, subtree: true, characterData: true, attributes: true });
        }
        for (let end = half.length; end < text.length; end += 100) {
          window.bench.showNow(text.slice(0, end), true);
          await new Promise((resolve) => requestAnimationFrame(resolve));
        }
        await window.bench.showProse(text);
        return {
          count: inside.length,
          connected: inside.every((node) => node.isConnected),
          changed: changed.length,
        };
      },
      answer(6_000).replaceAll(/```[\s\S]*?```/g, "code"),
    );
    expect(kept.count).toBeGreaterThan(20);
    expect(kept).toMatchObject({ connected: true, changed: 0 });
  });

  test("keeps what the reader has selected in the paragraph that grows", async () => {
    const selected = await page.evaluate(() => {
      window.bench.showNow("one **two** three", true);
      const bold = document.querySelector("#root strong")?.firstChild as Text;
      getSelection()?.setBaseAndExtent(bold, 0, bold, 3);
      window.bench.showNow("one **two** three `four` five", true);
      return String(getSelection());
    });
    expect(selected).toBe("two");
  });

  test.each(["", "```\n"])(
    "keeps what the reader has selected in the very words that grow",
    async (fence) => {
      await page.evaluate((opening) => {
        window.bench.showNow(`${opening}one two thr`, true);
        const root = document.querySelector("#root") as Node;
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()?.textContent?.includes("two") === false);
        getSelection()?.setBaseAndExtent(walker.currentNode, 4, walker.currentNode, 7);
        window.bench.showNow(`${opening}one two three and four`, true);
      }, fence);
      await page.waitForFunction(() => document.querySelector("#root")?.textContent.includes("four"));
      await expect.poll(() => page.evaluate(() => String(getSelection()))).toBe("two");
    },
  );

  test("begins again when its text is another one", async () => {
    await show("# first");
    await show("second");
    await expect.poll(async () => (await page.textContent("#root"))?.trim()).toBe("second");
  });

  test("opens links and files by mouse and keyboard, and never leaves the page", async () => {
    await show("[web](https://example.com/a) and [file](src/app.py#L3)");
    await page.click("#root a");
    await page.focus("#root .prose-path");
    await page.keyboard.press("Enter");
    await expect
      .poll(() => page.evaluate(() => window.followed))
      .toEqual(["https://example.com/a", "file src/app.py 3"]);
    expect(page.url()).toBe("http://localhost:1/");
  });

  test("shows a list of a thousand lines in part, and all of it on demand", async () => {
    await show(
      Array.from({ length: 2_000 }, (_, index) => `1. item ${index} of a long list of things`).join("\n"),
    );
    const before = await page.locator("#root li").count();
    expect(before).toBeLessThan(1_000);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForFunction(() => document.querySelectorAll("#root li").length === 2_000);
    const numbers = await page.evaluate(() => {
      const lists = [...document.querySelectorAll<HTMLOListElement>("#root ol")];
      return lists.map((list) => [list.start, list.childElementCount] as const);
    });
    expect(numbers.length).toBeGreaterThan(1);
    let next = 1;
    for (const [start, count] of numbers) {
      expect(start).toBe(next);
      next += count;
    }
  });
});

describe("a block of code", () => {
  const program = Array.from({ length: 1_000 }, (_, index) => `line_${index} = "text"  # note\n`).join("");

  test("is coloured while it arrives", async () => {
    await page.evaluate(() => window.bench.showNow('```python\ndef f():\n    return "x"\n', true));
    await expect.poll(() => page.locator("#root .hl-keyword").allTextContents()).toEqual(["def", "return"]);
    await expect.poll(() => page.locator("#root .hl-string").textContent()).toBe('"x"');
  });

  test("has the same colours whether it was streamed or opened", async () => {
    const colours = (): Promise<string[]> =>
      page.$$eval("#root code .code-stretch", (stretches) =>
        stretches.flatMap((stretch) =>
          [...stretch.childNodes].flatMap((node) => {
            const color = node instanceof HTMLElement ? node.className : "";
            return (node.textContent?.match(/\S/g) ?? []).map((letter) => color + letter);
          }),
        ),
      );
    const unit =
      'def f(a,\n      b):\n    """Several\n\n    lines."""\n    return {\n        "k": [1, None],\n    }\n\n\n';
    const code = "```python\n" + unit.repeat(30) + '"""never closed\n# so this is text\n';
    await stream(code, 400);
    const streamed = await colours();
    await page.evaluate(() => window.bench.clear());
    await show(code);
    expect(streamed).toEqual(await colours());
    expect(streamed).toContain("hl-strings");
  });

  test("is copied as it was written", async () => {
    await show("```python\nprint(1)\n\n\u202eprint(2)\n```");
    await page.getByRole("button", { name: "Copy code" }).click();
    await page.getByText("Copied").waitFor();
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toBe("print(1)\n\n\u202eprint(2)\n");
    await expect.poll(() => page.locator("#root .control-mark").textContent()).toBe("U+202E");
  });

  test("gives every line once when the reader selects it by hand", async () => {
    await show("```python\n" + program.slice(0, 9_000) + "\n```");
    const text = await page.evaluate(() => {
      const code = document.querySelector("#root code") as HTMLElement;
      getSelection()?.selectAllChildren(code);
      return String(getSelection());
    });
    expect(text.trimEnd()).toBe(program.slice(0, 9_000).trimEnd());
  });

  test("wraps its lines when asked to", async () => {
    await show("```\n" + "long ".repeat(400) + "\n```");
    const width = (): Promise<boolean> =>
      page.$eval("#root pre", (element) => element.scrollWidth > element.clientWidth);
    await expect.poll(width).toBe(true);
    await page.getByRole("button", { name: "Wrap lines" }).click();
    await expect.poll(width).toBe(false);
    await expect
      .poll(() => page.getByRole("button", { name: "Wrap lines" }).getAttribute("aria-pressed"))
      .toBe("true");
  });

  test("of a thousand lines is shown in part, streamed or not, and in full on demand", async () => {
    await stream("```python\n" + program + "```\n", 50);
    const lines = (): Promise<number> =>
      page.$eval("#root code", (code) => code.textContent.split("\n").length - 1);
    await expect.poll(lines).toBe(400);
    await page.getByRole("button", { name: "Show all 1,000 lines" }).click();
    await page.waitForFunction(
      (length) => document.querySelector("#root code")?.textContent.length === length,
      program.length,
    );
    await page.waitForFunction(() => document.querySelectorAll("#root .hl-comment").length === 1_000);
  });

  test("without a known language is plain", async () => {
    await show("```klingon\nqapla' = 1\n```");
    await expect.poll(() => page.locator("#root [class^=hl-]").count()).toBe(0);
    await expect.poll(() => page.locator(".code-language").textContent()).toBe("klingon");
  });
});

describe("the output of a program", () => {
  function print(text: string, deltas: number): Promise<unknown> {
    return page.evaluate(([output, count]) => window.bench.streamTerminal(output, count, 1), [
      text,
      deltas,
    ] as const);
  }
  const distance = (): Promise<number> =>
    page.$eval(".terminal", (box) => box.scrollHeight - box.scrollTop - box.clientHeight);

  test("shows colours and the last state of a progress bar", async () => {
    await print("10%\r55%\r100%\x1b[K \x1b[32mdone\x1b[0m\n\x1b[38;2;9;8;7mown\x1b[0m \u202e", 9);
    await expect.poll(() => page.textContent(".terminal")).toBe("100% done\nown U+202E");
    await expect.poll(() => page.textContent(".ansi-fg-2")).toBe("done");
    await expect
      .poll(() => page.getByText("own").evaluate((span) => getComputedStyle(span).color))
      .toBe("rgb(9, 8, 7)");
    expect(opened.problems).toEqual([]);
  });

  test("follows its end, unless the reader has gone back", async () => {
    const lines = Array.from({ length: 300 }, (_, index) => `line ${index}\n`).join("");
    await print(lines, 30);
    await expect.poll(distance).toBeLessThan(4);
    await page.$eval(".terminal", (box) => {
      box.scrollTop = 100;
      return new Promise((resolve) => box.addEventListener("scroll", resolve, { once: true }));
    });
    await page.evaluate((text) => window.bench.showTerminal(text), lines + "more\n".repeat(50));
    await expect.poll(() => page.$eval(".terminal", (box) => box.scrollTop)).toBe(100);
  });

  test("of a megabyte shows its end, and all of it on demand", async () => {
    const output = terminalOutput(1_000_000);
    await print(output, 40);
    await expect.poll(() => page.locator(".terminal-part").count()).toBeLessThan(100);
    await expect.poll(distance).toBeLessThan(4);
    const lines = output.split("\n").length;
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForFunction(
      (count) => (document.querySelector(".terminal")?.textContent.split("\n").length ?? 0) >= count,
      lines,
    );
    await expect.poll(() => page.$eval(".terminal", (box) => box.scrollTop)).toBe(0);
  });
});
