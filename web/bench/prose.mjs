// Measures in Chromium what streaming Markdown costs: `node bench/prose.mjs`, or with --json for a program.
// An answer of 40 KB in 1,000 deltas and one of 1 MB in 25,000 arrive in animation frames, as in the page.

import { openPage } from "./browser.mjs";
import { answer, terminalOutput } from "./sample.mjs";

const DELTAS_PER_FRAME = 16;
const FAST = 64;
const MOST_TASK_MS = 50;
const MOST_RATIO = 30;

const CASES = [
  { name: "40 KB answer", call: "streamProse", text: answer(40_000), deltas: 1_000 },
  { name: "1 MB answer", call: "streamProse", text: answer(1_000_000), deltas: 25_000 },
  {
    name: "1 MB in one code block",
    call: "streamProse",
    text: "```python\n" + code(1_000_000),
    deltas: 25_000,
    perFrame: FAST,
  },
  {
    name: "1 MB in one paragraph",
    call: "streamProse",
    text: words(1_000_000, " "),
    deltas: 25_000,
    perFrame: FAST,
  },
  {
    name: "1 MB in one list",
    call: "streamProse",
    text: words(1_000_000, "\n- "),
    deltas: 25_000,
    perFrame: FAST,
  },
  {
    name: "1 MB in one table",
    call: "streamProse",
    text: "a | b\n--|--\n" + words(1_000_000, " | x\n"),
    deltas: 25_000,
    perFrame: FAST,
  },
  { name: "5 MB answer opened at once", call: "showProse", text: answer(5_000_000) },
  {
    name: "1 MB of terminal output",
    call: "streamTerminal",
    text: terminalOutput(1_000_000),
    deltas: 25_000,
    perFrame: FAST,
  },
];

function code(length) {
  return "for item in items:\n    print(item, 'text', 42)  # comment\n".repeat(length / 56).slice(0, length);
}

function words(length, separator) {
  let text = "";
  for (let index = 0; text.length < length; index += 1) {
    text += `word ${index} with *emphasis* and \`code\`${index % 4 === 0 ? separator : " "}`;
  }
  return text.slice(0, length);
}

/** All durations are processor time of the page's main thread, so that other programs do not count. */
async function measure({ name, call, text, deltas, perFrame }) {
  const { browser, page, problems } = await openPage("bench/prose-page.tsx");
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  // The first use compiles the parsers; that is not what is measured here.
  await page.evaluate((warm) => window.bench.streamProse(warm, 100, 16), answer(12_000));
  await page.evaluate((sample) => {
    window.bench.clear();
    window.sample = sample;
  }, text);
  const before = await metrics(session);
  await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline"] });
  const streamed = await page.evaluate(
    ([how, count, batch]) => window.bench[how](window.sample, count, batch),
    [call, deltas ?? 1, perFrame ?? DELTAS_PER_FRAME],
  );
  const trace = JSON.parse((await browser.stopTracing()).toString());
  const after = await metrics(session);
  await browser.close();
  const spent = (...names) =>
    Math.round(names.reduce((sum, key) => sum + after[key] - before[key], 0) * 1000);
  return {
    name,
    ...streamed,
    script_ms: spent("ScriptDuration"),
    layout_ms: spent("LayoutDuration", "RecalcStyleDuration"),
    all_ms: spent("TaskDuration"),
    ...longestTask(trace),
    problems,
  };
}

async function metrics(session) {
  const { metrics: list } = await session.send("Performance.getMetrics");
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

/** The longest task of the page's main thread, by its own work and by the clock. */
function longestTask({ traceEvents }) {
  const main = traceEvents.filter(
    (event) => event.name === "thread_name" && event.args.name === "CrRendererMain",
  );
  const isMain = (event) => main.some(({ pid, tid }) => pid === event.pid && tid === event.tid);
  const tasks = traceEvents.filter((event) => event.name === "RunTask" && event.ph === "X" && isMain(event));
  const longest = (key) => Math.round(tasks.reduce((most, task) => Math.max(most, task[key] ?? 0), 0) / 1000);
  return { longest_task_ms: longest("tdur"), longest_task_wall_ms: longest("dur") };
}

function line({ name, stream_ms, late_ms, script_ms, layout_ms, all_ms, problems, ...tasks }) {
  const column = (value) => String(value).padStart(6);
  return [
    `${name.padEnd(28)} stream ${column(stream_ms)} ms, ${column(late_ms)} ms late`,
    `script ${column(script_ms)} ms`,
    `layout ${column(layout_ms)} ms`,
    `all ${column(all_ms)} ms`,
    `longest task ${tasks.longest_task_ms} ms (${tasks.longest_task_wall_ms} ms by the clock)`,
    ...problems,
  ].join(" · ");
}

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const results = [];
for (const one of CASES.filter(
  ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
)) {
  const result = await measure(one);
  results.push(result);
  if (!process.argv.includes("--json")) {
    console.log(line(result));
  }
}
const [small, large] = ["40 KB answer", "1 MB answer"].map((name) =>
  results.find((result) => result.name === name),
);
const ratio = small && large ? large.script_ms / small.script_ms : undefined;
if (process.argv.includes("--json")) {
  console.log(JSON.stringify({ results, ratio }));
} else if (ratio !== undefined) {
  console.log(`1 MB costs ${ratio.toFixed(1)} times 40 KB (at most ${MOST_RATIO})`);
}
const missed = results.some(
  ({ longest_task_ms, problems }) => longest_task_ms > MOST_TASK_MS || problems.length > 0,
);
process.exitCode = missed || (ratio ?? 0) > MOST_RATIO ? 1 : 0;
