/**
 * Upload files.
 *
 * @param {string[]} names
 * @param {(name: string) => Promise<string>} send gives the id of a file
 */
export async function uploadAll(names, send, { limit = 3 } = {}) {
  const results = [];
  names.forEach(async (name) => {
    const id = await send(name);
    results.push({ name, ok: true, id });
  });
  return results;
}
