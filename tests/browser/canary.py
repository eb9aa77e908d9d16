"""Detects attacks on the page: scripts, frames, strange links, covers, requests to other hosts."""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import Dialog, Page, Route

WEB = Path(__file__).parents[2] / "web"
# A half of a pair is no text: a JSON stream in UTF-8 cannot carry it, so no agent can send one.
HALF_PAIR = "\ud800"
BIDIRECTIONAL = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

WATCH = """
(() => {
  const alarms = (window.__alarms = []);
  window.__pwned = false;
  window.attacked = () => { window.__pwned = true; };
  window.open = (url) => { if (!/^(https?|mailto):/.test(String(url))) alarms.push(`opened ${url}`); return null; };
  document.addEventListener("securitypolicyviolation", (event) => alarms.push(`forbidden ${event.blockedURI}`));
  const strange = "script,iframe,frame,object,embed,base,meta,link,style,marquee,math,template,noscript,xmp";
  const inspect = (element) => {
    if (element.matches(strange)) alarms.push(`<${element.localName}>`);
    for (const { name, value } of element.attributes) {
      if (/^on|^srcdoc$|^xlink:|^formaction$/.test(name)) alarms.push(`${name}=${value}`);
      const address = name === "href" || name === "src" || name === "action";
      if (address && !/^(https?:|mailto:|blob:|data:image\\/(png|jpeg|gif|webp);|\\/|#|$)/.test(value))
        alarms.push(`${name}=${value}`);
    }
    if (element.closest(".p-row") && getComputedStyle(element).position === "fixed") alarms.push("a cover");
  };
  document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver((records) => {
      for (const { addedNodes, target, type } of records) {
        if (type === "attributes") inspect(target);
        for (const node of addedNodes)
          if (node instanceof Element) [node, ...node.querySelectorAll("*")].forEach(inspect);
      }
    }).observe(document.body, { childList: true, subtree: true, attributes: true });
  });
})();
"""


class Canary:
    """Sits in a page and keeps what it sees. Nothing may be seen."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._seen: list[str] = []

    async def sit(self) -> None:
        """Be there from the first moment of the page on, which is loaded again for that."""
        await self._page.add_init_script(WATCH)
        self._page.on("dialog", self._dismiss)
        self._page.on("popup", lambda page: self._seen.append(f"a window: {page.url}"))
        home = urlsplit(self._page.url).netloc
        await self._page.context.route(lambda url: _elsewhere(url, home), self._refuse)
        await self._page.reload()

    async def seen(self) -> list[str]:
        alarms: list[str] = await self._page.evaluate("window.__alarms")
        ran = ["a script ran"] if await self._page.evaluate("window.__pwned") else []
        return self._seen + ran + alarms

    async def _dismiss(self, dialog: Dialog) -> None:
        self._seen.append(f"a dialog: {dialog.message}")
        await dialog.dismiss()

    async def _refuse(self, route: Route) -> None:
        self._seen.append(f"a request: {route.request.url}")
        await route.abort()


@cache
def attacks() -> tuple[str, ...]:
    """Those that the unit tests of the page know."""
    compiler = WEB / "node_modules" / ".bin" / "esbuild"
    node = shutil.which("node")
    assert node is not None
    source = WEB / "test" / "attacks.ts"
    module = subprocess.run([compiler, source, "--format=cjs"], capture_output=True, check=True).stdout
    told = module + b"\nconsole.log(JSON.stringify(module.exports.ATTACKS.map((one) => one.markdown)));"
    found: list[str] = json.loads(
        subprocess.run([node, "-"], input=told, capture_output=True, check=True).stdout
    )
    return tuple(one for one in found if HALF_PAIR not in one)


def _elsewhere(url: str, home: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in {"http", "https", "ws", "wss"} and parts.netloc != home
