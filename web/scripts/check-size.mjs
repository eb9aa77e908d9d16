// Fails if what the page loads before its first paint has outgrown its budget.

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const page = join(dirname(fileURLToPath(import.meta.url)), "../../src/portico/doors/http/page");
/** In bytes, minified: what was reached, and 3 %. What is not needed at first belongs into an import() of its own. */
const BUDGET = { script: 637_000, sheet: 93_300 };

const { script, sheet } = JSON.parse(await readFile(join(page, "build.json"), "utf8"));
const sizes = { script: await sizeWithImports(script, new Set()), sheet: (await load(sheet)).length };
for (const [name, size] of Object.entries(sizes)) {
  const words = `The ${name} of the page has ${size} bytes; the budget is ${BUDGET[name]}.`;
  if (size <= BUDGET[name]) continue;
  console.error(`${words} Load what the first paint does not need with import().`);
  process.exitCode = 1;
}

/** A script with everything that it imports at once. */
async function sizeWithImports(name, seen) {
  if (seen.has(name)) return 0;
  seen.add(name);
  const text = await load(name);
  let size = text.length;
  for (const [, other] of text.toString().matchAll(/\b(?:from|import)"\.\/([\w-]+\.js)"/g)) {
    size += await sizeWithImports(other, seen);
  }
  return size;
}

function load(name) {
  return readFile(join(page, name));
}
