// The timeline in real Chromium, over the real model: what a reader sees while a conversation grows at both ends.

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openPage, type OpenedPage } from "../bench/browser.mjs";

let opened: OpenedPage;
let page: Page;
let styles: string;

beforeAll(async () => {
  opened = await openPage("test/timeline-page.tsx", { minify: false, viewport: { width: 480, height: 640 } });
  page = opened.page;
  const names = ["base", "timeline", "tools", "timeline-tools"];
  const sheets = names.map((name) => new URL(`../src/style/${name}.css`, import.meta.url));
  const texts = await Promise.all(sheets.map((sheet) => readFile(sheet, "utf8")));
  styles = texts.join("\n").replaceAll(/^@import.*$/gm, "");
});
afterAll(() => opened.browser.close());
beforeEach(async () => {
  await page.reload();
  await addStyles(styles);
});
afterEach(() => expect(opened.problems).toEqual([]));

const addStyles = (css: string): Promise<void> =>
  page.evaluate((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    document.adoptedStyleSheets.push(sheet);
  }, css);
const open = async (events: number): Promise<void> => {
  await page.evaluate((count) => window.timeline.show(count), events);
  await page.waitForFunction(() => window.timeline.session?.connection.value.state === "live");
  if (events > 0) await atEnd();
};
const atEnd = (): Promise<unknown> => page.waitForFunction(() => window.timeline.left < 1);
const scrollBy = (pixels: number): Promise<void> =>
  page.evaluate(async (by) => {
    const scroller = document.querySelector(".p-scroller");
    scroller?.scrollBy(0, by);
    // The browser measures what has come into sight, which may take some frames.
    const places = (): string =>
      [...document.querySelectorAll(".p-rows p")].map((one) => one.getBoundingClientRect().top).join();
    for (let same = 0, last = ""; same < 10;) {
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      const now = places();
      same = now === last ? same + 1 : 0;
      last = now;
    }
  }, pixels);
/** Three tool calls after all else; earlier ones may be in sight too, so it waits for these. */
const useTools = async (words: string): Promise<void> => {
  const newest = (): Promise<string | undefined> =>
    page.evaluate(() => [...document.querySelectorAll<HTMLElement>(".p-row")].at(-1)?.dataset["key"]);
  const before = await newest();
  await page.evaluate((printed) => window.timeline.useTools(printed), words);
  await expect.poll(newest).not.toBe(before);
  await atEnd();
};
const stream = (paragraphs: number): Promise<void> =>
  page.evaluate((count) => window.timeline.stream(count), paragraphs);
const items = (): Promise<number> => page.evaluate(() => window.timeline.session?.items.value.length ?? 0);
/** A paragraph in the upper part of the screen. Those that the browser leaves out have places there as well. */
const wordsInSight = (): Promise<string> =>
  page.evaluate(() => {
    const middle = window.innerWidth / 2;
    for (let y = 100; y < window.innerHeight; y += 5) {
      const shown = document.elementFromPoint(middle, y)?.closest(".p-rows p");
      if (shown && shown.getBoundingClientRect().top > 100) return shown.textContent;
    }
    return "";
  });
const rows = (): Promise<number> => page.locator(".p-row").count();

test("the tools stand above the conversation and cover none of it", async () => {
  await open(200);
  const [tools, list] = await page.evaluate(() =>
    [".p-timeline-tools", ".p-scroller"].map((one) => document.querySelector(one)?.getBoundingClientRect()),
  );
  expect(tools?.bottom).toBeLessThanOrEqual(list?.top ?? 0);
});

describe("a long session", () => {
  test("opens at its end with a screen of rows, whatever its length", async () => {
    await open(20_000);
    await expect.poll(rows).toBeLessThan(40);
    await expect
      .poll(() => page.evaluate(() => window.timeline.server.called("getTimeline")))
      .toBeLessThan(4);
  });

  test("loads what came before as the reader goes up, without moving what they read", async () => {
    await open(4_000);
    const before = await items();
    const jumps = await page.evaluate(async () => {
      const scroller = document.querySelector(".p-scroller");
      const found: number[] = [];
      for (let step = 0; scroller !== null && step < 60; step++) {
        const row = document.elementFromPoint(240, 300)?.closest(".p-row");
        if (row === null || row === undefined) continue;
        const { top } = row.getBoundingClientRect();
        const from = scroller.scrollTop;
        scroller.scrollTop -= 150;
        const by = from - scroller.scrollTop;
        for (let count = 0; count < 3; count++) await new Promise((done) => requestAnimationFrame(done));
        found.push(row.isConnected ? Math.abs(row.getBoundingClientRect().top - top - by) : Infinity);
      }
      return found;
    });
    expect(jumps.length).toBeGreaterThan(40);
    expect(Math.max(...jumps)).toBeLessThan(3);
    await expect.poll(items).toBeGreaterThan(before);
    await expect.poll(rows).toBeLessThan(60);
  });

  test("lets the reader walk from prompt to prompt by keyboard", async () => {
    await open(1_000);
    await page.evaluate(() => window.timeline.server.write((log) => log.prompt("The last one")));
    await stream(60);
    await page.focus(".p-scroller");
    await page.keyboard.press("k");
    await page.waitForFunction(() => document.activeElement?.textContent.startsWith("The last one"));
    await page.keyboard.press("Alt+ArrowUp");
    await page.waitForFunction(() => document.activeElement?.textContent.startsWith("Please look"));
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.activeElement?.textContent.startsWith("The last one"));
    await page.keyboard.press("End");
    await atEnd();
  });
});

describe("an answer that grows", () => {
  test("is followed while the reader is at the end", async () => {
    await open(200);
    await page.evaluate(() => window.timeline.server.write((log) => log.prompt("More")));
    await stream(40);
    await expect.poll(() => page.evaluate(() => window.timeline.left)).toBeLessThan(1);
    await expect.poll(() => page.locator(".p-jump-button").count()).toBe(0);
  });

  test("moves nothing while the reader is elsewhere, and says what is new", async () => {
    await open(400);
    await scrollBy(-500);
    const text = await wordsInSight();
    const place = await page.evaluate((words) => window.timeline.placeOf(words), text);
    await page.evaluate(() => window.timeline.server.write((log) => log.prompt("More")));
    await stream(30);
    await expect
      .poll(() => page.evaluate((words) => window.timeline.placeOf(words), text))
      .toBeCloseTo(place ?? 0, 0);
    await expect.poll(() => page.textContent(".p-jump-button")).toBe("2 new messages");
    await page.click(".p-jump-button");
    await atEnd();
  });

  // With low parts the whole is shorter than what it replaces until the browser has measured it.
  test.each([
    ["measured", ""],
    [
      "estimated",
      ".prose-part { contain-intrinsic-size: auto 90px !important; content-visibility: auto !important; }",
    ],
  ])("gets its beginning later without moving the words in sight, with %s heights", async (_, css) => {
    await addStyles(css);
    await page.evaluate(() => window.timeline.showLongAnswer(900));
    await page.waitForFunction(() => window.timeline.placeOf("Paragraph 899 of") !== undefined);
    await atEnd();
    await scrollBy(-1_500);
    const seen = await wordsInSight();
    const place = await page.evaluate((words) => window.timeline.placeOf(words), seen);
    while (await page.evaluate(() => window.timeline.session?.hasEarlier.value)) {
      await page.evaluate(() => window.timeline.session?.loadEarlier());
      await page.waitForFunction(() => document.querySelector(".p-preparing") === null);
    }
    // The prepared page has the words too, and is not visible yet.
    await page.waitForFunction(
      () =>
        document.querySelector(".p-preparing") === null &&
        window.timeline.placeOf("Paragraph 0 of") !== undefined,
    );
    await scrollBy(0);
    await expect
      .poll(async () => {
        const now = await page.evaluate((words) => window.timeline.placeOf(words), seen);
        return Math.abs((now ?? Infinity) - (place ?? 0));
      })
      .toBeLessThan(3);
  });
});

describe("finding", () => {
  test("opens what folds the words away and shows them", async () => {
    await open(200);
    await page.evaluate(() => window.timeline.useTools("a needle in the output"));
    await page.evaluate(() => window.timeline.server.write((log) => log.prompt("More")));
    await stream(60);
    await page.keyboard.press("Control+f");
    await page.keyboard.type("needle");
    await page.waitForFunction(() => document.querySelector(".p-find-count")?.textContent === "1 of 1");
    await page.waitForFunction(() => {
      const [range] = [...(CSS.highlights.get("p-found-current") ?? [])] as Range[];
      const place = range?.getBoundingClientRect();
      return place !== undefined && place.top > 0 && place.bottom < window.innerHeight;
    });
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator(".p-find").count()).toBe(0);
    await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toBe("p-scroller");
  });
});

test("an agent that is not installed is told with the command to copy", async () => {
  await open(0);
  await page.evaluate(() => window.timeline.missAgent("claude", "Install it: portico agents install claude"));
  const card = page.getByRole("group", { name: "Error: The agent is not installed" });
  await card.getByText("portico agents install claude", { exact: true }).waitFor();
  await card.getByRole("button", { name: "Copy" }).click();
  await card.getByRole("button", { name: "Copied" }).waitFor();
});

describe("rows", () => {
  test("keep what the person opened while they are out of sight", async () => {
    await open(200);
    await useTools("printed");
    await page.locator(".p-steps > .p-fold").last().click();
    await page.locator(".p-tool > .p-fold").last().click();
    await page.waitForFunction(() => document.querySelector(".terminal")?.textContent.includes("printed"));
    await page.evaluate(() => window.timeline.server.write((log) => log.prompt("More")));
    await page.focus(".p-scroller");
    await page.keyboard.press("End");
    await stream(120);
    await expect.poll(() => page.locator(".terminal").count()).toBe(0);
    await page.keyboard.press("k");
    await page.waitForFunction(() => document.querySelector(".terminal")?.textContent.includes("printed"));
  });

  test("an opened one stays under the mouse, also at the end", async () => {
    await open(200);
    await useTools("printed");
    const steps = page.locator(".p-steps > .p-fold").last();
    const before = await steps.boundingBox();
    await steps.click();
    await page.waitForSelector(".p-steps-body");
    await scrollBy(0);
    await expect.poll(async () => (await steps.boundingBox())?.y).toBeCloseTo(before?.y ?? 0, 0);
  });

  test("an empty session says who is there and what can be asked", async () => {
    await open(0);
    await page.evaluate(() =>
      window.timeline.server.write((log) =>
        log.add("commandsUpdated", { commands: [{ name: "explain", description: "Say what code does" }] }),
      ),
    );
    await page.click("text=All commands");
    await page.click("text=/explain");
    await expect.poll(() => page.evaluate(() => window.timeline.session?.draft.value)).toBe("/explain ");
    await expect.poll(() => page.textContent(".p-empty-title")).toBe("Porter");
  });
});
