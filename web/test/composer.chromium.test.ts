// The composer in real Chromium, over the real model: what keys, mouse, clipboard and input methods do.

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openPage, type OpenedPage } from "../bench/browser.mjs";
import type { ComposerPage } from "./composer-page";

let opened: OpenedPage;
let page: Page;
let styles: string;

beforeAll(async () => {
  opened = await openPage("test/composer-page.tsx", { minify: false, viewport: { width: 480, height: 640 } });
  page = opened.page;
  const names = ["base", "composer", "composer-popups", "composer-choices", "composer-notes"];
  const sheets = names.map((name) => new URL(`../src/style/${name}.css`, import.meta.url));
  const atTheBottom = "#root { display: flex; flex-direction: column; height: 95vh; justify-content: end; }";
  styles = (await Promise.all(sheets.map((sheet) => readFile(sheet, "utf8")))).join("\n") + atTheBottom;
});
afterAll(() => opened.browser.close());
beforeEach(async () => {
  await page.reload();
  await page.evaluate((css) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets = [sheet];
  }, styles);
  await page.waitForFunction(() => window.composer.session.connection.value.state === "live");
  await page.focus("textarea");
});
afterEach(() => expect(opened.problems).toEqual([]));

const keys = async (...names: string[]): Promise<void> => {
  for (const name of names) await page.keyboard.press(name);
};
const type = (text: string): Promise<void> => page.keyboard.type(text);
const text = (): Promise<string> => page.inputValue("textarea");
const prompts = (): Promise<ComposerPage["prompts"]> => page.evaluate(() => window.composer.prompts);
const sent = async (): Promise<string[]> => (await prompts()).map((prompt) => prompt.text);
const becomes = (expected: string): Promise<unknown> =>
  page.waitForFunction((wanted) => document.querySelector("textarea")?.value === wanted, expected);
const calls = (method: string): Promise<number> =>
  page.evaluate((name) => window.composer.server.called(name), method);
const offers = (): Promise<number> => page.locator(".p-completions [role=option]").count();

describe("writing", () => {
  test("Enter sends; Shift+Enter and Alt+Enter make new lines", async () => {
    await type("one");
    await keys("Shift+Enter");
    await type("two");
    await keys("Alt+Enter");
    await type("three");
    await keys("Enter");
    await becomes("");
    await expect.poll(sent).toEqual(["one\ntwo\nthree"]);
  });

  test("the field grows with its text, up to two fifths of the panel", async () => {
    const height = (): Promise<number> => page.$eval("textarea", (field) => field.offsetHeight);
    const line = await height();
    await keys("Shift+Enter");
    const two = await height();
    await page.evaluate(() => {
      document.getElementById("root")?.style.setProperty("height", "500px");
      window.composer.session.draft.value = "line\n".repeat(100);
    });
    await page.waitForFunction(() => document.querySelector("textarea")?.offsetHeight === 200);
    expect(two - line).toBe(20);
  });

  test("words from elsewhere appear at once, and never inside a character that is being put together", async () => {
    const set = (words: string): Promise<string> =>
      page.evaluate((draft) => (window.composer.session.draft.value = draft), words);
    await set("from elsewhere");
    await expect.poll(text).toBe("from elsewhere");
    await keys("Control+A");
    const input = await page.context().newCDPSession(page);
    await input.send("Input.imeSetComposition", { text: "に", selectionStart: 1, selectionEnd: 1 });
    await set("again");
    await expect.poll(text).toBe("に");
    await input.send("Input.insertText", { text: "日" });
    await expect.poll(() => page.evaluate(() => window.composer.session.draft.value)).toBe("日");
  });

  test("earlier prompts come back with the arrow, and undo knows them", async () => {
    await page.evaluate(() =>
      window.composer.server.write((log) => log.prompt("first\nof all").end().prompt("second").end()),
    );
    await page.waitForFunction(
      () => window.composer.session.items.value.filter((item) => item.type === "prompt").length === 2,
    );
    await keys("ArrowUp", "ArrowUp");
    await expect.poll(text).toBe("first\nof all");
    await keys("ArrowDown", "ArrowDown");
    await expect.poll(text).toBe("");
    await keys("Control+Z", "Control+Z");
    await expect.poll(text).toBe("first\nof all");
  });

  test("no part of it is drawn again while an answer streams", async () => {
    await page.evaluate(() => window.composer.server.write((log) => log.prompt("go").text("a")));
    await page.waitForSelector("[aria-label=Stop]");
    const [drawn, shown] = await page.evaluate(async () => {
      const before = window.composer.drawn;
      for (let frame = 0; frame < 20; frame++) {
        window.composer.server.write((log) => log.text("more words "));
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      const answer = window.composer.session.items.value.at(-1);
      return [window.composer.drawn - before, answer?.type === "answer" ? answer.text : ""];
    });
    expect(drawn).toBe(0);
    expect(shown).toContain("more words more words");
  });
});

describe("completing", () => {
  test("a command is offered at the start, taken with Tab, and says what it wants", async () => {
    await type("/e");
    await expect.poll(offers).toBe(1);
    await keys("Tab");
    await expect.poll(text).toBe("/explain ");
    await page.waitForFunction(() => document.querySelector(".p-hints")?.textContent === "/explain a file");
  });

  test("a picked file is a mention and a chip, and goes with its chip; undo brings it back", async () => {
    await type("see @spaces");
    await page.waitForSelector("[role=option]");
    await keys("Enter");
    await expect.poll(text).toBe('see @"docs/a name with spaces.md" ');
    await page.click(".p-chip button");
    await expect.poll(text).toBe("see ");
    await keys("Control+Z");
    await expect.poll(text).toBe('see @"docs/a name with spaces.md" ');
    await expect.poll(() => page.locator(".p-chip").count()).toBe(1);
  });

  test("a file that was typed by hand becomes a chip too", async () => {
    await type("see (@README.md). ");
    await page.waitForSelector(".p-chip >> text=README.md");
  });

  test("Esc closes the menu first, and stops the turn only then", async () => {
    await page.evaluate(() => window.composer.server.write((log) => log.prompt("go")));
    await page.waitForSelector("[aria-label=Stop]");
    await type("/f");
    await keys("Escape");
    await expect.poll(async () => [await offers(), await calls("stopTurn")]).toEqual([0, 0]);
    await keys("Escape");
    await page.waitForSelector("[aria-label=Send]");
    await expect.poll(() => calls("stopTurn")).toBe(1);
    await expect.poll(text).toBe("/f");
  });
});

test("what streams gives way to a key, and is shown behind the picture with it", async () => {
  const order = await page.evaluate(async () => {
    const { environment } = window.composer;
    const frame = (): Promise<void> => new Promise((done) => environment.frame(done));
    await frame();
    const happened: string[] = [];
    document.querySelector("textarea")?.dispatchEvent(new Event("input", { bubbles: true }));
    const streamed = frame().then(() => happened.push("stream"));
    requestAnimationFrame(() => happened.push("picture"));
    await streamed;
    return happened;
  });
  expect(order).toEqual(["picture", "stream"]);
});

describe("sending", () => {
  test("while a turn runs prompts wait in line, and can be changed and taken back", async () => {
    await page.evaluate(() => {
      window.composer.server.write((log) => log.prompt("go"));
      window.composer.server.busy = true;
    });
    await page.waitForSelector("[aria-label=Stop]");
    await type("next");
    await keys("Enter");
    await page.waitForSelector(".p-queued >> text=next");
    await becomes("");
    await page.click("[aria-label='Edit: next']");
    await page.fill("[aria-label='Queued prompt']", "after that");
    await page.keyboard.press("Enter");
    const submitted = (): Promise<unknown[]> =>
      page.evaluate(() => window.composer.server.submitted.map((event) => event.value));
    await expect
      .poll(submitted)
      .toContainEqual(expect.objectContaining({ promptId: "q1", text: "after that" }));
    await page.click("[aria-label='Remove: next']");
    await expect
      .poll(() => page.evaluate(() => window.composer.server.submitted.map((event) => event.case)))
      .toContain("queueRemoval");
  });

  test("prompts that wait for no turn can be sent now", async () => {
    await page.evaluate(() => {
      const queue = [
        { $typeName: "portico.v1.QueuedPrompt" as const, promptId: "q1", text: "later", attachments: 1 },
      ];
      window.composer.server.setDesk({ queue });
    });
    await page.click("text=Send now");
    await expect.poll(() => calls("submitPrompt")).toBe(1);
  });

  test("a prompt that waits for its folder says for whom, and there are other ways than to wait", async () => {
    const submitted = (): Promise<unknown[]> =>
      page.evaluate(() => window.composer.server.submitted.map((event) => event.case));
    await page.evaluate(() => {
      const queue = [
        { $typeName: "portico.v1.QueuedPrompt" as const, promptId: "q1", text: "later", attachments: 0 },
      ];
      window.composer.occupyFolder(true);
      window.composer.server.setDesk({ queue });
    });
    await page.waitForSelector("text=“Mend the door” is working in this folder");
    await expect.poll(() => page.locator("text=Send now").count()).toBe(0);

    await page.click("text=Use a worktree");
    await expect.poll(() => page.evaluate(() => window.composer.startsInWorktree)).toBe(true);
    await expect.poll(() => page.evaluate(() => window.composer.start?.text)).toBe("later");
    await expect.poll(submitted).not.toContain("queueRemoval");
    await page.evaluate(() => window.composer.start?.onStarted?.());
    await page.waitForFunction(() =>
      window.composer.server.submitted.some((event) => event.case === "queueRemoval"),
    );

    await page.click("text=Read only");
    await expect.poll(() => page.evaluate(() => window.composer.start?.readsOnly)).toBe(true);

    await page.click("text=Stop it");
    await page.waitForSelector("text=Stopping…");
    await page.waitForFunction(() => window.composer.server.called("stopTurn") === 1);
    await page.evaluate(() => window.composer.occupyFolder(false));
    await page.waitForSelector("text=is working in this folder", { state: "detached" });
  });

  test("a prompt waits for a server that is away, says so, and is sent when it is back", async () => {
    await page.evaluate(() => window.composer.server.kill());
    await page.waitForFunction(() => window.composer.session.connection.value.state === "reconnecting");
    await type("wait for me");
    await keys("Enter");
    await page.waitForSelector("text=sent when the connection is back");
    await expect.poll(text).toBe("wait for me");
    await page.evaluate(() => {
      window.composer.server.start();
      window.composer.session.wake();
    });
    await becomes("");
    await expect.poll(sent).toEqual(["wait for me"]);
  });

  test("dropped and pasted files go along, what is too large is named, and what the editor shows can stay out", async () => {
    await page.evaluate(() => {
      window.composer.context.value = {
        activeFile: "/w/main.py",
        selection: { text: "x", startLine: 3, endLine: 3 },
      };
      const carry = (...files: File[]): DataTransfer => {
        const carried = new DataTransfer();
        for (const file of files) carried.items.add(file);
        return carried;
      };
      const how = { bubbles: true, cancelable: true };
      const pasted = carry(new File(["words"], "notes.txt", { type: "text/plain" }));
      document
        .querySelector("textarea")
        ?.dispatchEvent(new ClipboardEvent("paste", { clipboardData: pasted, ...how }));
      const dropped = carry(
        new File(["x"], "a\u202egnp.exe"),
        new File([new Uint8Array(11 << 20)], "big.bin"),
      );
      document
        .querySelector(".p-composer-bar")
        ?.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, ...how }));
    });
    await page.waitForSelector("[role=alert] >> text=big.bin is 11 MB");
    await page.click("[aria-label='Selection, line 3']");
    await page.focus("textarea");
    await keys("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".p-chip:not(.p-chip-context)").length === 0);
    await expect
      .poll(prompts)
      .toEqual([{ text: "", files: ["Open in the editor", "notes.txt", "agnp.exe"] }]);
  });

  test("a session that is open elsewhere can be read and not written", async () => {
    await type("mine");
    await page.evaluate(() => window.composer.know({ openElsewhere: true }));
    await page.waitForSelector("text=This session is open in another program");
    await page.focus("textarea");
    await type("more");
    await expect.poll(text).toBe("mine");
    await expect.poll(() => page.locator("[aria-label=Send], [aria-label='Attach files']").count()).toBe(0);
  });
});

describe("choosing", () => {
  test("another agent begins a new session; one that is not installed says how to get it", async () => {
    await page.focus("[aria-label='Agent: Porter']");
    await keys("ArrowDown");
    await expect.poll(() => page.textContent("[role=option] >> nth=-1")).toContain("npm install codex");
    await keys("ArrowDown", "Enter");
    await keys("Enter", "Enter");
    await expect.poll(() => page.evaluate(() => window.composer.begun)).toEqual(["claude"]);
  });

  test("a model is chosen by keyboard alone", async () => {
    await page.focus("[aria-label='Model: small']");
    await keys("Space");
    await page.waitForSelector("[role=listbox]");
    const active = async (): Promise<string | null> => {
      const id = await page.getAttribute("[aria-label='Model: small']", "aria-activedescendant");
      return await page.textContent(`[id='${id}']`);
    };
    await keys("End");
    await expect.poll(active).toContain("Connect a model…");
    await keys("ArrowUp");
    await expect.poll(active).toContain("big");
    await keys("Enter");
    await page.waitForFunction(() => window.composer.server.called("setSessionConfig") === 1);
  });

  test("what has no room stands in a menu that Esc closes from the inside out", async () => {
    await page.setViewportSize({ width: 300, height: 640 });
    await page.waitForSelector("[aria-label^='Model: ']", { state: "detached" });
    await page.focus("[aria-label='More options']");
    await keys("Enter");
    await page.waitForSelector("[role=dialog] :focus");
    await keys("Enter");
    await page.waitForSelector("[role=listbox]");
    await keys("Escape");
    await page.waitForSelector("[role=listbox]", { state: "detached" });
    await expect.poll(() => page.locator("[role=dialog]").count()).toBe(1);
    await keys("Escape");
    await page.waitForSelector("[role=dialog]", { state: "detached" });
    await expect.poll(() => page.getAttribute(":focus", "aria-label")).toBe("More options");
    await page.setViewportSize({ width: 480, height: 640 });
  });

  test("the ring says how full the context is", async () => {
    const meter = page.locator("[role=meter]");
    await expect.poll(() => meter.getAttribute("aria-valuenow")).toBe("84");
    await expect.poll(() => meter.getAttribute("aria-valuetext")).toMatch(/168.000 of 200.000 tokens/);
    await expect.poll(() => meter.getAttribute("class")).toContain("p-meter-high");
  });
});

test("nothing in it keeps anybody out, with its menus open or closed", async () => {
  const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  const inspector = await page.context().newCDPSession(page);
  await inspector.send("Runtime.evaluate", { expression: axe });
  const violations = async (): Promise<string> => {
    const expression =
      'axe.run(".p-composer").then(({ violations }) => JSON.stringify(violations.map(({ id, nodes }) => [id, nodes[0].html])))';
    const { result } = await inspector.send("Runtime.evaluate", { expression, awaitPromise: true });
    return String(result.value);
  };
  await type("@");
  await page.waitForSelector("[role=option]");
  await expect.poll(violations).toBe("[]");
  await page.click("[aria-label='Agent: Porter']");
  await expect.poll(violations).toBe("[]");
  await page.setViewportSize({ width: 300, height: 150 });
  await keys("Escape", "Enter");
  await expect
    .poll(() => page.$eval("[role=listbox]", (list) => list.scrollHeight > list.clientHeight))
    .toBe(true);
  await expect.poll(violations).toBe("[]");
  await page.focus("textarea");
  await keys("Backspace", "/");
  await page.waitForSelector("[role=option] >> text=explain");
  await expect.poll(violations).toBe("[]");
  await page.setViewportSize({ width: 480, height: 640 });
});
