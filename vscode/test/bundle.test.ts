import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test("what the extension takes from the page are words and messages, and nothing that draws", async () => {
  const { metafile } = await build({
    absWorkingDir: fileURLToPath(new URL("..", import.meta.url)),
    entryPoints: ["src/extension.ts"],
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "cjs",
    external: ["vscode"],
    logLevel: "silent",
  });
  const [{ inputs } = { inputs: {} }] = Object.values(metafile.outputs);
  const packages = Object.keys(inputs).flatMap(
    (file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [],
  );
  expect([...new Set(packages)].toSorted()).toEqual([
    "@bufbuild/protobuf",
    "@connectrpc/connect",
    "@connectrpc/connect-node",
  ]);
}, 60_000);
