"""The real chat page in Chromium, with the real server and a speaking agent behind it, and a watch in the page."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from bench.children import PORTICO, environment
from bench.page_trace import CATEGORIES, Key, longest_task
from bench.page_typing import SIZE, BareField, Typist
from bench.programs.speaking_agent import END
from bench.report import MeasurementFailed
from bench.speaker import Speaker, Spoken
from scripts.find_browser import find

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
_PATIENCE_MS = 120_000

# Keeps when words were painted and how long tasks took. Milliseconds since 1970, or of duration.
_WATCH = """
(() => {
  const now = () => performance.timeOrigin + performance.now();
  const after = (act) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = act;
    channel.port2.postMessage(0);
  });
  const watch = (window.__watch = { tasks: [] });
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
})();
"""
_LOOK_FOR = """
words => {
  window.__over = false;
  window.__seen = window.__watch.seen(words, 'main');
  void window.__seen.then(() => (window.__over = true));
}
"""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one answer for the page, in seconds."""

    stream: float
    painted: float
    work: float
    longest_task: float
    longest_wait: float


class ChatPage:
    def __init__(self, browser: Browser, page: Page, speaker: Speaker) -> None:
        self._browser = browser
        self._page = page
        self._speaker = speaker
        self._typist = Typist(browser, page)
        self.bare_field = BareField(browser)
        self._tools = page.context.new_cdp_session(page)
        self._tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    @property
    def prompt(self) -> Locator:
        return self._page.get_by_role("textbox", name=re.compile("^Prompt"))

    def show(self, length: int, deltas: int, seconds: float, *, trace: bool = False) -> Shown:
        """Have an answer in a session of its own."""
        self._begin_session()
        if trace:
            self._browser.start_tracing(page=self._page, categories=CATEGORIES)
        before = self._work()
        self._begin_answer(length, deltas, seconds)
        painted, spoken = self._end_answer()
        work = self._work() - before
        longest = longest_task(self._browser.stop_tracing()) if trace else 0.0
        waits = self._page.evaluate("window.__watch.tasks.splice(0)")
        return Shown(
            stream=spoken.ended - spoken.started,
            painted=painted - spoken.started,
            work=work,
            longest_task=longest,
            longest_wait=max(waits, default=0.0) / 1000,
        )

    def type_while(self, length: int, deltas: int, seconds: float, keys: int) -> Sequence[Key]:
        """Type while an answer streams, which has to last longer."""
        self._begin_session()
        self._begin_answer(length, deltas, seconds)
        typed = self._type(keys)
        self._end_answer()
        self.prompt.fill("")
        return typed

    def type_alone(self, keys: int) -> Sequence[Key]:
        """Type while nothing else happens."""
        self._begin_session()
        typed = self._type(keys)
        self.prompt.fill("")
        return typed

    def open(self, title: str, words: str) -> float:
        """Seconds from the choice in the history until its last words are painted."""
        self._page.evaluate(_LOOK_FOR, words)
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
        self._page.bring_to_front()
        count = self._page.get_by_role("tab").count()
        self._page.get_by_role("button", name="New session", exact=True).first.click()
        self._page.wait_for_function(
            "count => document.querySelectorAll('[role=tab]').length > count", arg=count
        )
        self.prompt.wait_for()
        self._page.wait_for_function("() => !document.querySelector('textarea').readOnly")
        self._page.evaluate("window.__watch.tasks = []; window.__over = false")

    def _begin_answer(self, length: int, deltas: int, seconds: float) -> None:
        self._speaker.begin()
        self.prompt.fill(f"{length} {deltas} {seconds}")
        self._page.evaluate(_LOOK_FOR, END)
        self.prompt.press("Enter")
        self._page.locator(".p-answer").first.wait_for()
        self._page.evaluate("window.__watch.tasks = []")

    def _end_answer(self) -> tuple[float, Spoken]:
        """Time at which the last words were painted, and the agent's own times."""
        painted = float(self._page.evaluate("window.__seen")) / 1000
        return painted, self._speaker.spoken()

    def _type(self, keys: int) -> Sequence[Key]:
        self.prompt.focus()
        typed = self._typist.type(keys)
        if self._page.evaluate("window.__over"):
            raise MeasurementFailed("the answer had ended before the last key was pressed")
        return typed

    def _work(self) -> float:
        """Processor time of the page's main thread so far."""
        metrics = self._tools.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


@contextmanager
def chat_page(home: Path) -> Iterator[ChatPage]:
    program = find()
    if program is None:
        raise MeasurementFailed("there is no Chromium to show the page in")
    speaker, workspace = Speaker(home / "portico", home / "spoken.json"), home / "workspace"
    workspace.mkdir(exist_ok=True)
    with _server(home, workspace) as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        page = browser.new_page(viewport={"width": SIZE["width"], "height": SIZE["height"]})
        page.set_default_timeout(_PATIENCE_MS)
        page.add_init_script(_WATCH)
        page.goto(link)
        chat = ChatPage(browser, page, speaker)
        chat.prompt.wait_for()
        yield chat
        browser.close()


@contextmanager
def _server(home: Path, workspace: Path) -> Iterator[str]:
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
