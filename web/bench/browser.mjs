// Builds a page from TypeScript and opens it in Chromium under the content security policy of the real page.

import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const WEB = fileURLToPath(new URL("..", import.meta.url));
const FIND_BROWSER = fileURLToPath(new URL("../../scripts/find_browser.py", import.meta.url));
const ORIGIN = "http://localhost:1";
const POLICY =
  "default-src 'none'; script-src 'nonce-bench'; style-src 'self' 'nonce-bench'; font-src 'self'; connect-src 'none'";
const STYLES = [
  "src/style/tokens.css",
  "src/style/prose.css",
  "src/style/code.css",
  "src/style/terminal.css",
];
const CODICONS = "node_modules/@vscode/codicons/dist";

/** Opens an entry file as a page. What violates the policy or throws is gathered in `problems`. */
export async function openPage(entry, options = {}) {
  const bundle = await build({
    entryPoints: [`${WEB}${entry}`],
    bundle: true,
    write: false,
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: options.minify ?? true,
  });
  const sheets = await Promise.all(STYLES.map((path) => readFile(WEB + path, "utf8")));
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>bench</title>
<link rel="stylesheet" href="/codicon.css"><style nonce="bench">${sheets.join("\n")}
body { margin: 0; padding: 12px; background: var(--p-back); color: var(--p-text);
  font: var(--p-font-size) / var(--p-line) var(--p-font); }</style></head>
<body><main id="root"></main><script nonce="bench">${bundle.outputFiles[0].text.replaceAll("</script", "<\\/script")}</script></body></html>`;
  const browser = await chromium.launch({
    executablePath: execFileSync("python3", [FIND_BROWSER], { encoding: "utf8" }).trim(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  const context = await browser.newContext({
    viewport: options.viewport ?? { width: 800, height: 900 },
    colorScheme: options.colorScheme ?? "light",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  await page.route("**/*", async (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === "/") {
      await route.fulfill({
        contentType: "text/html",
        body: html,
        headers: { "content-security-policy": POLICY },
      });
    } else if (/^\/codicon\.(css|ttf)$/.test(pathname)) {
      await route.fulfill({ path: `${WEB}${CODICONS}${pathname}` });
    } else {
      problems.push(`asked for ${route.request().url()}`);
      await route.abort();
    }
  });
  await page.goto(`${ORIGIN}/`);
  return { browser, page, problems };
}
