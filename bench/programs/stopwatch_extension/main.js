// Sees from inside of the extension host what other extensions cost: it activates them one after the other, before
// VS Code would, and writes down what each took; and it writes down when anything is posted to a page.
// VS Code lists activation times itself, but it begins many at once and counts for each that it waits for others.

const { appendFileSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { setTimeout } = require("node:timers/promises");
const { ViewColumn, extensions, window } = require("vscode");

const FOLDER = process.env.BENCH_STOPWATCH;

exports.activate = async (context) => {
  const early = extensions.all.filter(
    ({ id, packageJSON }) => packageJSON.activationEvents?.includes("*") && id !== context.extension.id,
  );
  await Promise.allSettled(early.map((extension) => extension.activate()));
  const taken = {};
  for (const id of JSON.parse(readFileSync(join(FOLDER, "order.json"), "utf8"))) {
    taken[id] = await activated(extensions.getExtension(id));
  }
  watchPosts();
  const part = join(FOLDER, "taken.part");
  writeFileSync(part, JSON.stringify(taken));
  renameSync(part, join(FOLDER, "taken.json"));
};

async function activated(extension) {
  await rest();
  if (extension.isActive) throw new Error(`${extension.id} was activated before its turn.`);
  const busy = process.cpuUsage();
  const started = performance.now();
  await extension.activate();
  const clock = performance.now() - started;
  const { user, system } = process.cpuUsage(busy);
  return { clock: clock / 1e3, processor: (user + system) / 1e6 };
}

/** Wait until the host is nearly idle, three seconds at most: its own start-up must not count. */
async function rest() {
  const deadline = performance.now() + 3_000;
  for (let busy = Infinity; busy > 3_000 && performance.now() < deadline;) {
    const before = process.cpuUsage();
    await setTimeout(50);
    const { user, system } = process.cpuUsage(before);
    busy = user + system;
  }
}

/** All pages of all extensions post by the same method. */
function watchPosts() {
  const panel = window.createWebviewPanel("bench.stopwatch", "Stopwatch", ViewColumn.One);
  const pages = Object.getPrototypeOf(panel.webview);
  panel.dispose();
  const { postMessage } = pages;
  pages.postMessage = function (...message) {
    appendFileSync(join(FOLDER, "posts"), `${performance.timeOrigin + performance.now()}\n`);
    return postMessage.apply(this, message);
  };
}
