"""Takes the README's pictures: runs the real `portico chat` in tmux on a small project and draws its screen,
then runs the real `portico serve` on it and photographs its page in Chromium.

Run it from the repository after a change to what people see: .venv/bin/python scripts/take_pictures.py
It needs tmux, Chromium and a built page (make page).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
COLUMNS, ROWS = 92, 46
DEADLINE = 30.0
WIDE, NARROW = ViewportSize(width=1000, height=720), ViewportSize(width=320, height=720)

CALCULATOR = '''def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


def twice(value: int) -> int:
    return add(value, value)
'''
TESTS = """from calculator import add, twice


def test_add():
    assert add(1, 2) == 3


def test_twice():
    assert twice(4) == 8
"""


class Screen:
    """A tmux session that this script started and will end."""

    def __init__(self, command: str, folder: Path, environ: dict[str, str]) -> None:
        self._name = f"portico-pictures-{os.getpid()}"
        settings = [option for name, value in environ.items() for option in ("-e", f"{name}={value}")]
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        _tmux("new-session", "-d", "-s", self._name, *size, *settings, "-c", str(folder), command)

    def type(self, keys: str, *, until: str) -> None:
        """Send a line and wait until the screen shows what it should."""
        _tmux("send-keys", "-t", self._name, "-l", keys)
        _tmux("send-keys", "-t", self._name, "Enter")
        self.wait(until)

    def wait(self, text: str) -> None:
        end = time.monotonic() + DEADLINE
        while text not in (shown := _tmux("capture-pane", "-p", "-t", self._name)):
            if time.monotonic() > end:
                raise SystemExit(f"{text!r} did not appear; the screen shows:\n{shown}")
            time.sleep(0.05)

    def wait_for_question(self) -> None:
        """Until the cursor stands behind a question: what is typed before it is asked does not count."""
        end = time.monotonic() + DEADLINE
        while not _tmux("capture-pane", "-p", "-t", self._name).rstrip().endswith("y/a/n/s/g ?"):
            if time.monotonic() > end:
                raise SystemExit("no question was asked")
            time.sleep(0.05)

    def keys(self, keys: str) -> None:
        _tmux("send-keys", "-t", self._name, "-l", keys)

    def draw(self, name: str, title: str) -> None:
        captured = _tmux("capture-pane", "-e", "-p", "-t", self._name)
        picture = PICTURES / f"{name}.svg"
        drawing = [sys.executable, str(ROOT / "scripts" / "terminal_picture.py"), "-", str(picture)]
        subprocess.run(
            [*drawing, "--columns", str(COLUMNS), "--title", title], input=captured, text=True, check=True
        )
        print(picture.relative_to(ROOT))

    def close(self) -> None:
        _tmux("kill-session", "-t", self._name)


def main() -> None:
    if shutil.which("tmux") is None:
        raise SystemExit("tmux is needed to take pictures; install it first.")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch) / "calculator"
        project.mkdir()
        (project / "calculator.py").write_text(CALCULATOR)
        (project / "test_calculator.py").write_text(TESTS)
        # Without the lines that tell of this machine.
        (project / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
        tools = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environ = {"PORTICO_HOME": f"{scratch}/home", "HOME": scratch, "PATH": tools}
        environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        # The project's tests are no business of the plugins that are installed here.
        environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        screen = Screen(f"{ROOT}/.venv/bin/portico chat", project, environ)
        try:
            _talk(screen)
        finally:
            screen.close()
        (project / "calculator.py").write_text(CALCULATOR)
        _photograph(project, environ)


def _photograph(project: Path, environ: dict[str, str]) -> None:
    """The page of a server that this function starts and ends."""
    expect.set_options(timeout=DEADLINE * 1000)
    server = subprocess.Popen(
        [f"{ROOT}/.venv/bin/portico", "serve"], cwd=project, env=environ, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        link = server.stdout.readline().split()[-1]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=_chromium(), args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport=WIDE, reduced_motion="reduce")
            page.goto(link)
            _converse(page)
            browser.close()
    finally:
        server.terminate()
        server.wait(DEADLINE)


def _chromium() -> str:
    finding = [sys.executable, str(ROOT / "scripts" / "find_browser.py")]
    return subprocess.run(finding, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _converse(page: Page) -> None:
    answers = page.get_by_role("article", name="Answer")
    card = page.get_by_role("group", name=re.compile("^Permission"))
    allow = card.get_by_role("button", name=re.compile("^Allow")).first
    _ask(page, "/explain add")
    expect(answers).to_have_attribute("aria-busy", "false")
    _ask(page, "/edit calculator.py s/Add two/Sum two/")
    details = card.get_by_role("button", name="Details")
    if details.get_attribute("aria-expanded") == "false":
        details.click()
    expect(card.get_by_role("group", name=re.compile("^Change of"))).to_be_visible()
    _shoot(page, "page-permission", dark=False)
    allow.click()
    expect(page.get_by_text(re.compile("^Changed calculator.py")).last).to_be_visible()
    _ask(page, "/test ")
    allow.click()
    expect(page.get_by_text("2 tests passed").last).to_be_visible()
    expect(page.get_by_role("region", name="History").get_by_text("working")).to_have_count(0)
    _shoot(page, "page-light", dark=False)
    _shoot(page, "page-dark", dark=True)
    page.set_viewport_size(NARROW)
    _shoot(page, "page-narrow", dark=True)


def _ask(page: Page, words: str) -> None:
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    prompt = page.get_by_role("textbox", name=re.compile("^Prompt"))
    prompt.fill(words)
    prompt.press("Enter")
    expect(prompt).to_have_value("")


def _shoot(page: Page, name: str, *, dark: bool) -> None:
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.mouse.move(0, 0)
    picture = PICTURES / f"{name}.png"
    page.screenshot(path=picture, animations="disabled")
    print(picture.relative_to(ROOT))


def _talk(screen: Screen) -> None:
    screen.wait("❯")
    screen.type("/explain add", until="✓")
    screen.type("/edit calculator.py s/Add two/Sum two/", until="Reject")
    screen.wait_for_question()
    screen.draw("permission", "portico chat")
    screen.type("y", until="Changed calculator.py")
    screen.type("/test", until="❯ /test")
    screen.wait_for_question()
    screen.type("y", until="2 tests passed")
    screen.keys("/")
    screen.wait("/explain")
    screen.draw("chat", "portico chat")


def _tmux(*words: str) -> str:
    return subprocess.run(["tmux", *words], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
