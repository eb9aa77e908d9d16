// Checks the names of TypeScript packages: a type name is exported once per package, and file names are nouns.
//
// node scripts/check-names.mjs SRC_FOLDER ...

import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";

/** Exported type names that may exist twice, with the reason. */
const REPEATED_TYPES = new Map([]);
/** Words of file names that no newcomer could guess. */
const BANNED_WORDS = new Set([
  "bench",
  "deed",
  "deeds",
  "desk",
  "desks",
  "errand",
  "errands",
  "helper",
  "helpers",
  "manager",
  "mind",
  "shelf",
  "told",
  "util",
  "utils",
  "words",
]);
/** File names with a word that ends in -ing or -ed and is a noun or an adjective, with the reason. */
const ALLOWED_WORDS = new Map([
  ["elapsed", "elapsed time, an established term"],
  ["feed", "a noun"],
  ["attached", "attached window, a term of the glossary"],
  ["listed", "listed model: an entry of VS Code's list of models"],
  ["managed", "managed environment, an established term"],
  ["mentioned", "mentioned file: a file that the draft mentions"],
  ["nested", "nested code, an established term"],
  ["pending", "pending request, an established term"],
  ["reconnecting", "reconnecting stream, an established term"],
  ["typing", "typing is a noun here: priority of typing"],
  ["undecided", "undecided end of a text"],
  ["unfinished", "unfinished work"],
]);
const EXPORTED_TYPE = /^export (?:declare )?(?:abstract )?(?:class|interface|type|enum) (\w+)/gm;

export async function checkNames(folder) {
  const files = await sourceFiles(folder);
  const problems = files.flatMap((file) => fileNameProblems(file));
  const places = new Map();
  for (const file of files) {
    for (const [, name] of (await readFile(file, "utf8")).matchAll(EXPORTED_TYPE))
      places.set(name, [...(places.get(name) ?? []), file]);
  }
  for (const [name, found] of places)
    if (found.length > 1 && !REPEATED_TYPES.has(name))
      problems.push(`${name} is exported by ${found.join(" and ")}. Rename one of them.`);
  return problems;
}

function fileNameProblems(file) {
  const words = basename(file).replace(/\..*$/, "").split("-");
  return words.flatMap((word) => {
    if (BANNED_WORDS.has(word)) return [`${file}: "${word}" is banned in file names.`];
    const isVerb = /(?:ing|ed)$/.test(word) && !ALLOWED_WORDS.has(word);
    return isVerb ? [`${file}: "${word}" is not a noun. Name the file after the thing in it.`] : [];
  });
}

async function sourceFiles(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.includes("/generated/"))
    .sort();
}

if (process.argv[1] === import.meta.filename) {
  const problems = (await Promise.all(process.argv.slice(2).map(checkNames))).flat();
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
