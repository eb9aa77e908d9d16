"""Simulated typing in a page of Chromium: in the chat page, or in a bare field as the baseline."""

from collections.abc import Sequence
from random import Random

from playwright.sync_api import Browser, Page

from bench.page_trace import CATEGORIES, Key, typed_keys

SIZE = {"width": 1100, "height": 800}
# A fast typist: nine keys a second, at irregular intervals. The page shows streamed text at a pace of its own, and
# two regular rhythms could coincide at the same keys each time.
_BETWEEN_KEYS_MS = (60, 95, 140, 75, 180, 110)
# Chromium counts its own bars into a window, and draws nothing of a page that reaches out of it.
_BARS = {"width": 100, "height": 300}
_BARE_FIELD = """
<!doctype html>
<style>
  textarea { field-sizing: content; }
  @keyframes pulse { 50% { opacity: 0.35; } }
  .moving { animation: pulse 1.6s ease-in-out infinite; background: blue; height: 7px; width: 7px; }
</style>
<textarea></textarea>
<div></div>
"""
_DRAWN = "() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


class Typist:
    def __init__(self, browser: Browser, page: Page) -> None:
        self._browser = browser
        self._page = page
        self._rhythm = Random(0)
        tools = page.context.new_cdp_session(page)
        window = tools.send("Browser.getWindowForTarget")["windowId"]
        bounds = {side: length + _BARS[side] for side, length in SIZE.items()}
        tools.send("Browser.setWindowBounds", {"windowId": window, "bounds": bounds})

    def type(self, keys: int) -> Sequence[Key]:
        """Presses keys without looking for the field each time, which would keep the page busy."""
        self._browser.start_tracing(page=self._page, categories=CATEGORIES)
        since = float(self._page.evaluate("performance.now()"))
        for pause in self._rhythm.choices(_BETWEEN_KEYS_MS, k=keys):
            self._page.keyboard.press("e", delay=pause)
        self._page.evaluate(_DRAWN)
        return typed_keys(self._browser.stop_tracing(), since, keys)


class BareField:
    """A field alone on a page: what this machine and this Chromium need for a key, whatever the page."""

    def __init__(self, browser: Browser) -> None:
        self._page = browser.new_page(viewport={"width": SIZE["width"], "height": SIZE["height"]})
        self._page.set_content(_BARE_FIELD)
        self._typist = Typist(browser, self._page)

    def type(self, keys: int, *, beside_motion: bool = False) -> Sequence[Key]:
        """Type, perhaps while a dot pulses beside the field."""
        self._page.bring_to_front()
        self._page.evaluate(
            "moves => document.querySelector('div').classList.toggle('moving', moves)", beside_motion
        )
        self._page.locator("textarea").focus()
        typed = self._typist.type(keys)
        self._page.locator("textarea").fill("")
        return typed
