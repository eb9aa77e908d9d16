// Builds the page into the Python package: a script, what it loads later, a sheet, a font, and the document that loads
// them.
//
// node build.mjs           for use
// node build.mjs --watch   while working on it

import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../src/portico/doors/http/page");
/** What makes the page a web app that can be installed. */
const app = join(here, "app");
const watching = process.argv.includes("--watch");

/** Writes index.html once the names of the files are known. */
const document = {
  name: "document",
  setup(build) {
    build.onEnd(async (result) => {
      if (result.errors.length > 0) return;
      const names = Object.keys(result.metafile.outputs).map((path) => path.split("/").at(-1));
      const script = names.find((name) => /^page-.*\.js$/.test(name));
      const sheet = names.find((name) => /^page-.*\.css$/.test(name));
      const id = createHash("sha256")
        .update([...names].sort().join())
        .digest("hex")
        .slice(0, 12);
      const template = await readFile(join(here, "src/index.html"), "utf8");
      const html = template.replace("{{script}}", script).replace("{{sheet}}", sheet);
      await writeFile(join(out, "index.html"), html);
      await writeFile(join(out, "build.json"), JSON.stringify({ build: id, script, sheet }) + "\n");
      const kept = new Set([...names, "index.html", "build.json", ...(await readdir(app))]);
      await cp(app, out, { recursive: true });
      for (const name of await readdir(out)) {
        if (!kept.has(name)) {
          await rm(join(out, name));
        }
      }
    });
  },
};

await mkdir(out, { recursive: true });
const context = await esbuild.context({
  absWorkingDir: here,
  entryPoints: { page: "src/main.tsx" },
  outdir: out,
  entryNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: !watching,
  sourcemap: watching ? "inline" : false,
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".ttf": "file" },
  metafile: true,
  logLevel: "info",
  plugins: [document],
});
if (watching) {
  await context.watch();
} else {
  await context.rebuild();
  await context.dispose();
}
