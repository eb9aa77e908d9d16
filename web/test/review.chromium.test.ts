// A review in real Chromium, over the real page and model: what a person sees, chooses and writes, with and without a mouse.

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openPage, type OpenedPage } from "../bench/browser.mjs";
import { NoticeLevel, Severity } from "../src/generated/portico/v1/events_pb";

let opened: OpenedPage;
let page: Page;
let styles: string;
let axe: string;

beforeAll(async () => {
  opened = await openPage("test/review-page.tsx", { minify: false, viewport: { width: 1100, height: 760 } });
  page = opened.page;
  page.setDefaultTimeout(20_000);
  styles = await wholeSheet();
  axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
});
afterAll(() => opened.browser.close());
beforeEach(async () => {
  await page.setViewportSize({ width: 1100, height: 760 });
  await page.emulateMedia({ colorScheme: "light" });
  await page.evaluate(() => sessionStorage.clear());
  await reload();
});
afterEach(() => expect(opened.problems).toEqual([]));

async function wholeSheet(): Promise<string> {
  const folder = new URL("../src/style/", import.meta.url);
  const list = await readFile(new URL("page.css", folder), "utf8");
  const names = [...list.matchAll(/@import "\.\/([\w-]+\.css)"/g)].map(([, name = ""]) => name);
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, folder), "utf8")));
  return `${texts.join("\n").replaceAll(/^@import.*$/gm, "")} #root { height: 100vh; } body { padding: 0; }`;
}

async function reload(): Promise<void> {
  await page.reload();
  await page.evaluate((css) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets = [sheet];
  }, styles);
}

const show = async (): Promise<void> => {
  await page.evaluate(() => window.review.show());
  await page.waitForSelector(".p-proposal");
};
const review = async (): Promise<void> => {
  await show();
  await page.click(".p-proposal-file >> nth=0");
  await page.waitForSelector(".p-review .p-rl");
  await page.waitForFunction(() => document.activeElement?.matches("[data-stop]"));
};
const press = async (...keys: readonly string[]): Promise<void> => {
  for (const key of keys) {
    await page.keyboard.press(key);
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
  }
};
const label = (): Promise<string> =>
  page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");
const sum = (): Promise<string | null> => page.textContent(".p-review-sum");
const written = (path: string): Promise<string | undefined> =>
  page.evaluate((name) => window.review.server.written.get(name), path);
const says = async (words: string): Promise<void> => {
  await page.waitForFunction(
    (text) => document.querySelector(".p-review-said")?.textContent.includes(text),
    words,
  );
};

describe("a proposal", () => {
  test("lists its files with what becomes of them, and opens at the one that is chosen", async () => {
    await show();
    const files = await page.locator(".p-proposal-file").allInnerTexts();
    expect(files.map((text) => text.replaceAll(/\s+/g, " "))).toContainEqual(
      expect.stringMatching(/captain\.md docs\/crews conflict/),
    );
    await page.click("text=old.txt");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label")?.includes("old.txt"));
    await expect.poll(() => page.locator(".p-rfile-at").innerText()).toContain("old.txt");
  });

  test("shows the problems that it adds and solves, at each file and above all of them", async () => {
    await show();
    await page.evaluate((severity) => {
      window.review.server.problems = [
        { path: "harbour/boats.py", added: [{ line: 3, severity, message: "Name is not known" }] },
        { path: "tests/test_boats.py", removed: [{ line: 1, severity, message: "Import is not used" }] },
        { path: "docs/crews/captain.md" },
      ];
    }, Severity.ERROR);
    await page.click(".p-proposal-file >> nth=0");
    await page.click("text=1 new problem, 1 problem solved");
    const lines = await page.locator(".p-review-problems li").allInnerTexts();
    expect(lines.map((text) => text.replaceAll(/\s+/g, " "))).toEqual([
      expect.stringMatching(/new error.*harbour\/boats\.py:3 Name is not known/),
      expect.stringMatching(/solved.*tests\/test_boats\.py:1 Import is not used/),
    ]);
    const head = page.locator(".p-rf-head", { hasText: "boats.py" }).first();
    await expect.poll(() => head.locator(".p-problems").innerText()).toContain("1 new problem");
    const quiet = page.locator(".p-rf-head", { hasText: "captain.md" });
    await expect.poll(() => quiet.locator(".p-problems").count()).toBe(0);
  });

  test("is applied in part by keys alone: what was rejected stays in it", async () => {
    await review();
    await expect.poll(label).toContain("Change 1 of 2 in harbour/boats.py");
    await press("a");
    await expect.poll(label).toContain("Change 2 of 2 in harbour/boats.py");
    await press("x");
    await expect.poll(sum).toContain("6 of 8 changes in 6 files");
    await press("Enter");
    await says("Applied 6 files");
    const boats = await written("harbour/boats.py");
    expect(boats).toContain("if name]");
    expect(boats).toContain('return f"{boat.name} leaves"\n');
    await expect.poll(() => written(".env")).toBeUndefined();
    await expect.poll(() => page.locator(".p-rfile").allInnerTexts()).toHaveLength(3);
    await expect.poll(sum).toContain("Nothing selected");
    await press("Enter");
    await says("Nothing selected");
    await expect.poll(() => page.evaluate(() => window.review.server.called("applyProposal"))).toBe(1);
    await press("u");
    await says("Last apply undone");
    await expect.poll(() => page.locator(".p-rfile").allInnerTexts()).toHaveLength(8);
    await expect.poll(sum).toContain("6 of 8 changes in 6 files");
  });

  test("keeps what was chosen through a reload, and the words for the agent", async () => {
    await review();
    await press("x", "r");
    await page.keyboard.type("Keep the loop");
    await page.evaluate(() => window.review.open());
    await page.waitForSelector(".p-proposal");
    await expect.poll(() => page.textContent(".p-proposal .p-button-main")).toBe("Resolve conflicts");
    await page.click(".p-proposal-file >> nth=0");
    await page.waitForSelector(".p-rh-rejected");
    await expect.poll(sum).toContain("1 rejected");
    await press("r");
    await expect.poll(() => page.inputValue(".p-revise-text")).toBe("Keep the loop");
  });

  test("that another turn has changed says so and keeps the choices that are left", async () => {
    await review();
    await press("x", "x");
    await page.evaluate(() => {
      const { server } = window.review;
      server.changes = server.changes.map((one) =>
        one.path === "harbour/boats.py"
          ? { ...one, new: one.new?.replace(" {HARBOUR}", " at once") ?? "" }
          : one,
      );
      server.tell();
    });
    await says("The proposal has changed");
    await expect.poll(() => page.textContent(".p-review-said")).toContain("1 decision dropped");
    await expect.poll(sum).toContain("1 rejected");
  });

  test("that changed unseen is not applied: it is loaded anew, and the person is told", async () => {
    await review();
    await press("x");
    await page.evaluate(() => void (window.review.server.revision += 1));
    await press("Enter");
    await says("The proposal has changed");
    await expect.poll(() => written("tests/test_boats.py")).toBeUndefined();
    await expect.poll(sum).toContain("1 rejected");
    await press("Enter");
    await says("Applied");
  });

  for (const [part, selector] of [
    ["its head", ".p-rh-place"],
    ["a line of it", ".p-rl-text"],
  ] as const) {
    test(`has the hunk as its current one of which ${part} was clicked`, async () => {
      await review();
      const last = page.locator(`.p-rf >> nth=0 >> .p-rd-row ${selector}`).last();
      await last.click();
      const current = page.locator(".p-rh-current");
      await expect.poll(() => current.count()).toBe(1);
      await expect.poll(() => page.locator(".p-rd-current").count()).toBeGreaterThan(0);
      const place = await current.locator(".p-rh-place").textContent();
      expect(place).toBe(await page.locator(".p-rf >> nth=0 >> .p-rh-place").last().textContent());
      await press("x");
      await expect.poll(() => page.locator(".p-rh-rejected .p-rh-place").allTextContents()).toEqual([place]);
    });
  }

  test("has the file as its current one whose name was clicked, and rejects that one", async () => {
    await review();
    await page.locator(".p-rf >> nth=1 >> .p-rf-base").click();
    const name = await page.locator(".p-rf >> nth=1 >> .p-rf-base").textContent();
    const current = page.locator(".p-rf", { has: page.locator(".p-rh-current, .p-rf-current") });
    await expect.poll(() => current.locator(".p-rf-base").allTextContents()).toEqual([name]);
    await press("x");
    const rejected = page.locator(".p-rfile", {
      has: page.locator(".p-rfile-bad, .p-rfile-plain[title*=partly]"),
    });
    await expect.poll(() => rejected.locator(".p-rf-base").allTextContents()).toEqual([name]);
  });

  test("that comes while nobody looks at the screen is read aloud", async () => {
    await show();
    const aloud = page.locator("[aria-live=polite]", { hasText: "8 files to review" });
    await expect.poll(() => aloud.count()).toBe(0);
    await page.evaluate(() => void window.review.server.tell());
    await aloud.waitFor({ state: "attached" });
  });

  test("that is applied is a line with a way back", async () => {
    await page.evaluate(() => window.review.show([{ path: "a.txt", new: "one\n" }]));
    await page.click("text=Apply all");
    await page.waitForSelector("text=Applied 1 file");
    await expect.poll(() => written("a.txt")).toBe("one\n");
    await page.click(".p-settled >> text=Undo");
    await page.waitForSelector(".p-proposal");
    await expect.poll(() => written("a.txt")).toBeUndefined();
  });

  test("is discarded only when the person says so twice", async () => {
    await page.evaluate(() => window.review.show([{ path: "a.txt", new: "one\n" }]));
    await page.click(".p-proposal >> text=Discard");
    await expect.poll(() => page.evaluate(() => window.review.server.called("discardProposal"))).toBe(0);
    await page.click("text=Confirm discard");
    await page.waitForSelector("text=Discarded 1 file");
  });

  test("goes back to the agent with what was rejected and why", async () => {
    await review();
    await press("x", "r");
    await page.keyboard.type("Keep the loop");
    await press("Control+Enter");
    await page.waitForSelector("text=Please revise: Keep the loop");
    const asked = await page.evaluate(
      () => window.review.server.calls.find((call) => call.method === "getRevisionPrompt")?.request,
    );
    expect(asked).toMatchObject({ comment: "Keep the loop", files: [{ path: "harbour/boats.py" }] });
  });

  test("that waits while the conversation goes on is named above the composer", async () => {
    await show();
    await expect.poll(() => page.locator(".p-review-bar").count()).toBe(0);
    await page.evaluate(() =>
      window.review.server.write((log) => log.prompt("And the sails?").text("Later.").end()),
    );
    await page.waitForSelector(".p-review-bar >> text=8 files to review");
    await page.click(".p-review-bar button");
    await page.waitForSelector(".p-review .p-rl");
  });
});

describe("a conflict", () => {
  test("is left out until the person says whose lines stay", async () => {
    await show();
    await page.click("text=Resolve conflicts");
    await page.waitForSelector(".p-rc");
    await expect.poll(sum).toContain("1 conflict to resolve");
    await page.click("text=Keep mine");
    await expect.poll(() => page.getAttribute("text=Keep mine", "aria-pressed")).toBe("true");
    await expect.poll(sum).not.toContain("conflict");
    await page.focus(".p-rd");
    await press("Enter");
    await says("Applied 7 files");
    const request = await page.evaluate(
      () => window.review.server.calls.find((call) => call.method === "applyProposal")?.request,
    );
    const { files } = request as { files: { path: string; resolve?: number }[] };
    expect(files.find((file) => file.path === "docs/crews/captain.md")?.resolve).toBe(1);
  });
});

describe("a long diff", () => {
  test("has a screen of lines on the page, wherever the reader is", async () => {
    await page.evaluate(() => window.review.showLong(5_000, 3));
    await page.click(".p-proposal .p-button-main");
    await page.waitForSelector(".p-rl");
    const blank = await page.evaluate(async () => {
      const list = document.querySelector(".p-rd");
      let empty = 0;
      for (let step = 0; list !== null && step < 60; step++) {
        list.scrollTop += list.scrollHeight / 60;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const { left, top, height } = list.getBoundingClientRect();
        const seen = document.elementFromPoint(left + 100, top + height / 2);
        if (seen?.closest(".p-rd-row, .p-rf-head") === null) empty += 1;
      }
      return empty;
    });
    expect(blank).toBe(0);
    await expect.poll(() => page.locator(".p-rd-row").count()).toBeLessThan(150);
  });

  test("has the head of its file at the upper edge all along", async () => {
    await page.evaluate(() => window.review.showLong(2_000, 100));
    await page.click(".p-proposal .p-button-main");
    await page.waitForSelector(".p-rl");
    await press("j", "j", "j", "j", "j", "j");
    const edge = await page.evaluate(() => {
      const list = document.querySelector(".p-rd")?.getBoundingClientRect();
      const head = document.querySelector(".p-rf-head")?.getBoundingClientRect();
      const focus = document.activeElement?.getBoundingClientRect();
      return [
        Math.abs((list?.top ?? 0) - (head?.top ?? 0)) < 1,
        (focus?.top ?? 0) > (head?.bottom ?? Infinity),
      ];
    });
    expect(edge).toEqual([true, true]);
  });

  test("keeps what the reader looks at in its place when the window gets another width", async () => {
    await page.setViewportSize({ width: 1900, height: 760 });
    await page.evaluate(() => window.review.showLong(900, 3));
    await page.click(".p-proposal .p-button-main");
    await page.waitForSelector(".p-rl");
    await page.evaluate(() => document.querySelector(".p-rd")?.scrollTo(0, 9_000));
    const place = (): Promise<string> =>
      page.evaluate(() => {
        const edge = document.querySelector(".p-rf-head")?.getBoundingClientRect().bottom ?? 0;
        const rows = [...document.querySelectorAll(".p-rd-row")];
        const first = rows.find((row) => row.getBoundingClientRect().bottom > edge);
        return /value_\d+/.exec(first?.textContent ?? "")?.[0] ?? "";
      });
    await expect.poll(place, { timeout: 20_000 }).toMatch(/value_\d{3}/);
    const name = await place();
    for (const width of [360, 1_900]) {
      await page.setViewportSize({ width, height: 760 });
      const beside = width > 1_000;
      await page.waitForFunction((is) => (document.querySelector(".p-rl-pair") !== null) === is, beside);
      await expect.poll(place, { timeout: 20_000 }).toBe(name);
    }
  });

  test("shows more of what stands around a change when that is wanted", async () => {
    await review();
    const around = page.locator(".p-rl-text", { hasText: 'HARBOUR = "north"' });
    await expect.poll(() => around.count()).toBe(0);
    await page.click(".p-rg-all >> nth=0");
    await around.waitFor();
    await press("j");
    await expect.poll(label).toContain("Change 2 of 2");
  });
});

describe("the ways that changes take", () => {
  test("can be chosen at the composer; what is not possible says why", async () => {
    await show();
    await page.evaluate(() => {
      const { server } = window.review;
      server.possible = server.possible.slice(0, 2);
      server.hint = "This folder is no repository: run git init, or take proposals.";
    });
    await page.click("[aria-label='Changes: Proposal']");
    await page.waitForSelector("text=This folder is no repository");
    await expect
      .poll(() => page.getAttribute("[role=option]:has-text('Branch')", "aria-disabled"))
      .toBe("true");
    await page.click("[role=option]:has-text('Direct')");
    await page.waitForSelector("[aria-label='Changes: Direct']");
  });

  test("a branch is named, and brought home from a menu", async () => {
    await show();
    await page.click("[aria-label='Changes: Proposal']");
    await page.click("[role=option]:has-text('Branch')");
    await page.waitForSelector(".p-branch:has-text('portico/mend-the-boats')");
    await page.click("text=Finish branch…");
    await press("ArrowDown", "Enter");
    await page.waitForSelector("text=Squashed into one commit on main.");
  });
});

/** Lets the server tell of files that changed during a turn that must not touch them. */
async function changeOutside(): Promise<void> {
  await page.evaluate((level) => {
    window.review.server.write((log) =>
      log.add("notice", {
        level,
        text: "This file changed in your folder during this turn, outside the review: boats.md.",
        details: "changed: boats.md",
        code: "changed_outside_review",
        paths: ["boats.md"],
        checkpointId: "c1",
      }),
    );
  }, NoticeLevel.WARNING);
  await page.waitForSelector("text=changed: boats.md");
}

describe("the way back", () => {
  test("asks first and says how much changes", async () => {
    await show();
    await page.hover(".p-prompt");
    await page.click("[aria-label='Restore to here']");
    await page.waitForSelector("dialog >> text=8 files");
    await page.click("dialog >> text=Restore >> nth=-1");
    await page.waitForSelector("text=Restored a checkpoint: 2 files changed");
    await expect.poll(() => page.evaluate(() => window.review.server.called("restoreCheckpoint"))).toBe(1);
  });

  test("is offered for files that changed outside the review", async () => {
    await show();
    await changeOutside();
    await page.click("[aria-label='Files changed outside the review'] >> text=Restore…");
    await page.waitForSelector("dialog >> text=8 files");
    await page.click("dialog >> .p-button-main");
    await page.waitForSelector("text=Restored a checkpoint: 2 files changed");
    await expect.poll(() => page.evaluate(() => window.review.server.called("restoreCheckpoint"))).toBe(1);
  });

  test("is listed with what changed since each checkpoint", async () => {
    await show();
    await page.click("[aria-label=Checkpoints]");
    await page.click(".p-point");
    await page.waitForSelector("dialog .p-rl");
    await press("Escape");
    await expect.poll(() => page.locator("dialog").count()).toBe(0);
  });
});

describe("the page around it", () => {
  test("where there is no room the review covers the conversation, and gives it back", async () => {
    await page.setViewportSize({ width: 300, height: 700 });
    await review();
    await expect
      .poll(() => page.evaluate(() => document.querySelector(".p-talk")?.hasAttribute("inert")))
      .toBe(true);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(wide).toBeLessThanOrEqual(0);
    await press("Escape");
    await expect.poll(() => page.locator(".p-review").count()).toBe(0);
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.className))
      .toContain("p-proposal-file");
  });

  for (const scheme of ["light", "dark"] as const) {
    test(`axe finds nothing wrong by ${scheme}`, async () => {
      await page.emulateMedia({ colorScheme: scheme });
      const found: Record<string, string[]> = {};
      const look = async (name: string): Promise<void> => void (found[name] = await faults());
      await review();
      await press("a", "x");
      await look("wide");
      await page.click("text=Take theirs");
      await press("Tab", "r");
      await look("revising");
      await page.setViewportSize({ width: 300, height: 700 });
      await look("narrow");
      await press("Escape", "Escape");
      await changeOutside();
      await look("changed outside");
      await page.hover(".p-prompt");
      await page.click("[aria-label='Restore to here']");
      await page.waitForSelector("dialog >> text=8 files");
      await look("restoring");
      await press("Escape");
      await page.click("[aria-label='Changes: Proposal']");
      await look("modes");
      expect(Object.fromEntries(Object.entries(found).filter(([, wrong]) => wrong.length > 0))).toEqual({});
    });
  }
});

async function faults(): Promise<string[]> {
  await page.evaluate(axe);
  return await page.evaluate(async () => {
    const { axe: checker } = window as unknown as { axe: { run: (options: object) => Promise<AxeResult> } };
    const { violations } = await checker.run({ resultTypes: ["violations"] });
    return violations
      .filter((one) => one.impact === "serious" || one.impact === "critical")
      .flatMap((one) =>
        one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)}: ${node.failureSummary}`),
      );
  });
}

interface AxeResult {
  readonly violations: {
    readonly id: string;
    readonly impact: string;
    readonly nodes: { readonly html: string; readonly failureSummary: string }[];
  }[];
}
