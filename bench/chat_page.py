"""The real chat page in Chromium, with the real server and a speaking agent behind it, and a watch in the page."""

import json
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from bench.children import PORTICO, agent_command, environment
from bench.programs.speaking_agent import END
from bench.report import MeasurementFailed
from scripts.find_browser import find

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
_PATIENCE_MS = 120_000
_LOOK_AGAIN = 0.01
# Main thread of the page only, with the processor's time of each task beside the clock's.
_TRACED = ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline", "__metadata"]
_TASK = "ThreadControllerImpl::RunTask"

# Keeps when words were painted, how long tasks and keys took. Milliseconds since 1970, or of duration.
_WATCH = """
(() => {
  const now = () => performance.timeOrigin + performance.now();
  const after = (act) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = act;
    channel.port2.postMessage(0);
  });
  const watch = (window.__watch = { tasks: [], handled: [], painted: [] });
  watch.seen = (words, root) => new Promise((resolve) => {
    const place = document.querySelector(root);
    const has = (node) => node.textContent.includes(words);
    const observer = new MutationObserver((records) => {
      for (const { target, addedNodes } of records)
        if ((target.nodeType === 3 && has(target)) || [...addedNodes].some(has)) {
          observer.disconnect();
          return after(() => resolve(now()));
        }
    });
    observer.observe(place, { childList: true, characterData: true, subtree: true });
  });
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) watch.tasks.push(duration);
  }).observe({ type: "longtask" });
  let pressed = 0;
  window.addEventListener("keydown", (event) => (pressed = event.timeStamp), { capture: true });
  window.addEventListener("input", () => {
    const started = pressed;
    queueMicrotask(() => watch.handled.push(performance.now() - started));
    after(() => watch.painted.push(performance.now() - started));
  });
})();
"""


class Spoken(msgspec.Struct, frozen=True):
    """When the agent sent its first delta and its last, in seconds since 1970."""

    started: float
    ended: float


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What one answer cost the page, in seconds."""

    stream: float
    painted: float
    work: float
    longest_task: float
    longest_wait: float


class Keys(msgspec.Struct, frozen=True):
    """Seconds from each key until the page had dealt with it, and until it was painted."""

    handled: Sequence[float]
    painted: Sequence[float]


class ChatPage:
    def __init__(self, browser: Browser, page: Page, spoken: Path) -> None:
        self._browser = browser
        self._page = page
        self._spoken = spoken
        self._tools = page.context.new_cdp_session(page)
        self._tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    @property
    def prompt(self) -> Locator:
        return self._page.get_by_role("textbox", name=re.compile("^Prompt"))

    def show(self, length: int, deltas: int, seconds: float, *, trace: bool = False) -> Shown:
        """Have an answer in a session of its own."""
        self._begin_session()
        if trace:
            self._browser.start_tracing(page=self._page, categories=_TRACED)
        before = self._work()
        painted, spoken = self._answer(length, deltas, seconds, keys=0)
        work = self._work() - before
        longest = _longest_task(self._browser.stop_tracing()) if trace else 0.0
        waits = self._page.evaluate("window.__watch.tasks.splice(0)")
        return Shown(
            stream=spoken.ended - spoken.started,
            painted=painted - spoken.started,
            work=work,
            longest_task=longest,
            longest_wait=max(waits, default=0.0) / 1000,
        )

    def type_while(self, length: int, deltas: int, seconds: float, keys: int) -> Keys:
        """Type while an answer streams."""
        self._begin_session()
        self._answer(length, deltas, seconds, keys=keys)
        return self._typed()

    def type_alone(self, keys: int) -> Keys:
        """Type while nothing else happens."""
        self._begin_session()
        self._type(keys)
        return self._typed()

    def open(self, title: str, words: str) -> float:
        """Seconds from the choice in the history until its last words are painted."""
        self._page.evaluate("words => { window.__seen = window.__watch.seen(words, 'main'); }", words)
        entry = self._page.get_by_role("region", name="History").get_by_role(
            "button", name=re.compile(f"^{title}")
        )
        started = entry.first.evaluate(
            "one => { const at = performance.timeOrigin + performance.now(); one.click(); return at; }"
        )
        painted = self._page.evaluate("window.__seen")
        self._page.get_by_role("tab", name=re.compile(f"^{title}")).press("Delete")
        return float(painted - started) / 1000

    def _begin_session(self) -> None:
        count = self._page.get_by_role("tab").count()
        self._page.get_by_role("button", name="New session", exact=True).first.click()
        self._page.wait_for_function(
            "count => document.querySelectorAll('[role=tab]').length > count", arg=count
        )
        self.prompt.wait_for()
        self._page.wait_for_function("() => !document.querySelector('textarea').readOnly")
        self._page.evaluate("Object.assign(window.__watch, { tasks: [], handled: [], painted: [] })")

    def _answer(self, length: int, deltas: int, seconds: float, *, keys: int) -> tuple[float, Spoken]:
        """When the last words were painted, and what the agent says of its time."""
        self._spoken.unlink(missing_ok=True)
        self.prompt.fill(f"{length} {deltas} {seconds}")
        self._page.evaluate("words => { window.__seen = window.__watch.seen(words, 'main'); }", END)
        self.prompt.press("Enter")
        self._page.locator(".p-answer").first.wait_for()
        self._page.evaluate("Object.assign(window.__watch, { tasks: [], handled: [], painted: [] })")
        self._type(keys)
        painted = float(self._page.evaluate("window.__seen")) / 1000
        return painted, self._said()

    def _said(self) -> Spoken:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if self._spoken.is_file() and (text := self._spoken.read_text()):
                return msgspec.json.decode(text, type=Spoken)
            time.sleep(_LOOK_AGAIN)
        raise MeasurementFailed("the agent did not say when it spoke")

    def _type(self, keys: int) -> None:
        for _ in range(keys):
            self.prompt.press("e", delay=5)

    def _typed(self) -> Keys:
        found: dict[str, list[float]] = self._page.evaluate("window.__watch")
        self.prompt.fill("")
        return Keys(*([value / 1000 for value in found[name]] for name in ("handled", "painted")))

    def _work(self) -> float:
        """How long the page's main thread has kept a processor busy so far."""
        metrics = self._tools.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


@contextmanager
def chat_page(home: Path) -> Iterator[ChatPage]:
    program = find()
    if program is None:
        raise MeasurementFailed("there is no Chromium to show the page in")
    spoken, workspace = home / "spoken.json", home / "workspace"
    workspace.mkdir(exist_ok=True)
    with _server(home, workspace, spoken) as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        page = browser.new_page(viewport={"width": 1100, "height": 800})
        page.set_default_timeout(_PATIENCE_MS)
        page.add_init_script(_WATCH)
        page.goto(link)
        chat = ChatPage(browser, page, spoken)
        chat.prompt.wait_for()
        yield chat
        browser.close()


@contextmanager
def _server(home: Path, workspace: Path, spoken: Path) -> Iterator[str]:
    command, *arguments = agent_command("speaking_agent", str(spoken))
    config = home / "portico" / "config"
    config.mkdir(parents=True)
    agents = {"speaking": {"command": command, "args": arguments}}
    (config / "settings.json").write_text(json.dumps({"agent": "speaking", "agents": agents}))
    environ = environment(home / "portico")
    with subprocess.Popen(
        (PORTICO, "serve"), env=environ, cwd=workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        if "#token=" not in line:
            raise MeasurementFailed("the server did not start")
        try:
            yield line.split()[-1]
        finally:
            process.terminate()


def _longest_task(trace: bytes) -> float:
    """Processor seconds of the longest task on the main thread of the page."""
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    main = {
        (one["pid"], one["tid"])
        for one in events
        if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        one.get("tdur", one.get("dur", 0))
        for one in events
        if one["name"] in (_TASK, "RunTask") and (one["pid"], one["tid"]) in main
    ]
    if not tasks:
        raise MeasurementFailed("the trace of the page has no tasks")
    return float(max(tasks)) / 1e6
