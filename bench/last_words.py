"""The time at which the page paints the end of an answer, in any frame, reported by the page itself."""

import asyncio
import json

from playwright.async_api import Locator

from bench.programs.speaking_agent import END

PATIENCE_MS = 60_000
# In every frame: when it began, when the mouse was last pressed, and when the last words were painted.
# Milliseconds since 1970. VS Code writes a page over an empty one, and no observer of that is left.
WATCH = """
(() => {
  const now = () => performance.timeOrigin + performance.now();
  const watch = (window.__watch = { began: now(), pressed: 0 });
  const has = (node) => node.textContent.includes(END);
  const painted = (resolve) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve(now());
    channel.port2.postMessage(0);
  });
  const seen = (main) => new Promise((resolve) => {
    const observer = new MutationObserver((records) => {
      for (const { target, addedNodes } of records)
        if ((target.nodeType === 3 && has(target)) || [...addedNodes].some(has)) {
          observer.disconnect();
          return painted(resolve);
        }
    });
    observer.observe(main, { childList: true, characterData: true, subtree: true });
  });
  watch.begin = () => (watch.end = seen(document.querySelector("main")));
  addEventListener("mousedown", () => (watch.pressed = now()), true);
  if (window === top) return;
  const early = setInterval(() => {
    const main = document.querySelector("main");
    if (!main) return;
    clearInterval(early);
    watch.end = has(main) ? new Promise(painted) : seen(main);
  }, 1);
})();
""".replace("END", json.dumps(END))


async def look_for_end(inside: Locator) -> None:
    """Begin to look, in the frame in which this is."""
    await inside.evaluate("() => void window.__watch.begin()")


async def painted(inside: Locator) -> float:
    """Seconds since 1970, as soon as there is an end. No polling meanwhile: that would keep the page busy."""
    async with asyncio.timeout(PATIENCE_MS / 1_000):
        found: float = await inside.evaluate("() => window.__watch.end")
    return found / 1_000
