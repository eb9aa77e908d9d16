import { uploadAll } from "./upload.js";

/** Upload files and say in a line what became of them. */
export async function report(names, send) {
  const results = await uploadAll(names, send);
  const failed = results.filter((one) => !one.ok);
  const words = failed.map((one) => `${one.name} (${one.error})`);
  const done = `${names.length - failed.length} of ${names.length} uploaded`;
  return failed.length > 0 ? `${done}, failed: ${words.join(", ")}` : done;
}
