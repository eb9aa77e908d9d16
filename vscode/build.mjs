// Builds the extension into dist/: one script, the chat page as the browser has it, the wheel that `make dist` has
// made, if there is one, and the README with its pictures inside: VS Code shows no others of an installed extension.

import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const page = join(here, "../src/portico/doors/http/page");
const out = join(here, "dist");

/** The generated messages stand in the page's folder, and would bring its copy along. */
const oneProtobuf = {
  name: "one-protobuf",
  setup(build) {
    build.onResolve({ filter: /^@bufbuild\/protobuf/ }, ({ path, kind, pluginData }) =>
      pluginData === "ours" ? undefined : build.resolve(path, { kind, resolveDir: here, pluginData: "ours" }),
    );
  },
};

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
  plugins: [oneProtobuf],
  minify: true,
  logLevel: "info",
});
await cp(page, join(out, "page"), { recursive: true });
await rm(join(out, "page", "index.html"));
const wheels = join(here, "../dist");
const made = await readdir(wheels).catch(() => []);
for (const wheel of made.filter((file) => file.endsWith(".whl"))) {
  await cp(join(wheels, wheel), join(out, "wheel", wheel));
}
await cp(join(here, "../LICENSE"), join(here, "LICENSE"));
await writeFile(join(out, "README.md"), await withPictures(await readFile(join(here, "README.md"), "utf8")));

async function withPictures(text) {
  const pictures = [...text.matchAll(/(?<=\]\()media\/pictures\/[\w-]+\.png(?=\))/g)].map(([path]) => path);
  for (const path of new Set(pictures)) {
    const picture = (await readFile(join(here, path))).toString("base64");
    text = text.replaceAll(path, `data:image/png;base64,${picture}`);
  }
  return text;
}
