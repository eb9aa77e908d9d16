// Builds the extension into dist/: one script, and the chat page as the browser has it.

import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const page = join(here, "../src/portico/doors/web/page");
const out = join(here, "dist");

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
await esbuild.build({
  absWorkingDir: here,
  entryPoints: { extension: "src/extension.ts" },
  outdir: out,
  outExtension: { ".js": ".cjs" },
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
  minify: true,
  logLevel: "info",
});
await cp(page, join(out, "page"), { recursive: true });
await rm(join(out, "page", "index.html"));
await cp(join(here, "../LICENSE"), join(here, "LICENSE"));
