/**
 * Upload files, at most `limit` at a time, and return a result for each.
 *
 * @param {string[]} names
 * @param {(name: string) => Promise<string>} send gives the id of a file
 */
export async function uploadAll(names, send, { limit = 3 } = {}) {
  const results = [];
  let next = 0;
  const work = async () => {
    while (next < names.length) {
      const place = next++;
      results[place] = await upload(names[place], send);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, names.length) }, work));
  return results;
}

async function upload(name, send) {
  try {
    return { name, ok: true, id: await send(name) };
  } catch (error) {
    return { name, ok: false, error: error.message };
  }
}
