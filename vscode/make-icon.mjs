// Draws media/icon.png from media/portico.svg with Chromium: node make-icon.mjs [chromium]

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SIZE = 256;
const chromium = process.argv[2] ?? "chromium";
const drawing = readFileSync("media/portico.svg", "utf8");
const folder = mkdtempSync(join(tmpdir(), "portico-icon-"));
const page = join(folder, "icon.html");
writeFileSync(
  page,
  `<!doctype html><style>
    html, body { margin: 0; background: transparent; }
    div { width: ${SIZE}px; height: ${SIZE}px; border-radius: 48px; background: #1f3a5f; color: #f4f1ea;
          display: grid; place-items: center; }
    svg { width: ${SIZE * 0.72}px; height: ${SIZE * 0.72}px; }
  </style><div>${drawing}</div>`,
);
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"];
const look = [`--window-size=${SIZE},${SIZE}`, "--default-background-color=00000000"];
try {
  const out = `--screenshot=${join(process.cwd(), "media/icon.png")}`;
  execFileSync(chromium, [...flags, ...look, out, `file://${page}`], { stdio: "ignore" });
} finally {
  rmSync(folder, { recursive: true });
}
