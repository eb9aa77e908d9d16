// Measures in Chromium what streaming Markdown costs: `node bench/prose.mjs`, or with --json for a program.
// An answer of 40 KB in 1,000 deltas and one of 1 MB in 25,000 arrive in animation frames, as in the page.

import { openPage } from "./browser.mjs";
import { answer, terminalOutput } from "./sample.mjs";

const DELTAS_PER_FRAME = 16;
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
  },
  { name: "1 MB in one paragraph", call: "streamProse", text: words(1_000_000, " "), deltas: 25_000 },
  { name: "1 MB in one list", call: "streamProse", text: words(1_000_000, "\n- "), deltas: 25_000 },
  {
    name: "1 MB in one table",
    call: "streamProse",
    text: "a | b\n--|--\n" + words(1_000_000, " | x\n"),
    deltas: 25_000,
  },
  { name: "5 MB answer opened at once", call: "showProse", text: answer(5_000_000) },
  {
    name: "1 MB of terminal output",
    call: "streamTerminal",
    text: terminalOutput(1_000_000),
    deltas: 25_000,
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

async function measure({ name, call, text, deltas }) {
  const { browser, page, problems } = await openPage("bench/prose-page.tsx");
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  // The first use compiles the parsers; that is not what is measured here.
  await page.evaluate((warm) => window.bench.streamProse(warm, 100, 16), answer(12_000));
  await page.evaluate(() => window.bench.clear());
  const before = await metrics(session);
  await browser.startTracing(page, {
    categories: ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline"],
  });
  await page.evaluate(
    ([how, what, count, batch]) => window.bench[how](what, count, batch),
    [call, text, deltas ?? 1, DELTAS_PER_FRAME],
  );
  const trace = JSON.parse((await browser.stopTracing()).toString());
  const after = await metrics(session);
  await browser.close();
  return {
    name,
    script_ms: Math.round(1000 * (after.ScriptDuration - before.ScriptDuration)),
    layout_ms: Math.round(
      1000 *
        (after.LayoutDuration +
          after.RecalcStyleDuration -
          before.LayoutDuration -
          before.RecalcStyleDuration),
    ),
    all_ms: Math.round(1000 * (after.TaskDuration - before.TaskDuration)),
    longest_task_ms: Math.round(longestTask(trace)),
    problems,
  };
}

async function metrics(session) {
  const { metrics: list } = await session.send("Performance.getMetrics");
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

/** The longest task of the page's main thread, in milliseconds. */
function longestTask({ traceEvents }) {
  const main = traceEvents.filter(
    (event) => event.name === "thread_name" && event.args.name === "CrRendererMain",
  );
  const isMain = (event) => main.some(({ pid, tid }) => pid === event.pid && tid === event.tid);
  const tasks = traceEvents.filter(
    (event) => /RunTask$/.test(event.name) && event.ph === "X" && isMain(event),
  );
  return tasks.reduce((longest, task) => Math.max(longest, task.dur / 1000), 0);
}

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const results = [];
for (const one of CASES.filter(
  ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
)) {
  const result = await measure(one);
  results.push(result);
  if (!process.argv.includes("--json")) {
    const { name, script_ms, layout_ms, all_ms, longest_task_ms, problems } = result;
    console.log(
      `${name.padEnd(28)} script ${String(script_ms).padStart(6)} ms · layout ${String(layout_ms).padStart(6)} ms · ` +
        `all ${String(all_ms).padStart(6)} ms · longest task ${longest_task_ms} ms ${problems.join(" ")}`,
    );
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
