"""A real VS Code with the extension installed, as one person has it, served to a browser."""

import fcntl
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from scripts.find_vscode import VARIABLE, built_in_extensions, find
from tests.support.processes import wait_for_death
from tests.support.program import PROGRAM

# Looked up once, because tests take the environment away.
CODE_SERVER = find()
VSIX = Path(os.environ.get("PORTICO_VSIX") or Path(__file__).parents[2] / "vscode" / "dist" / "portico.vsix")
# Of VS Code's own extensions those that tests use: every window and every extension host reads all that there are.
BUILT_IN = (
    *(
        "git",
        "git-base",
        "javascript",
        "json",
        "json-language-features",
        "log",
        "markdown-basics",
        "node_modules",
    ),
    *("python", "theme-defaults", "theme-seti", "typescript-basics", "typescript-language-features"),
)
READY = "Session server listening"
SETTINGS: dict[str, Any] = {
    "portico.program": str(PROGRAM),
    "chat.disableAIFeatures": True,
    "extensions.autoCheckUpdates": False,
    "extensions.ignoreRecommendations": True,
    # In a browser it is on, and then nothing stays unsaved.
    "files.autoSave": "off",
    "git.openRepositoryInParentFolders": "never",
    "telemetry.telemetryLevel": "off",
    # Else what a terminal shows is a picture, without words.
    "terminal.integrated.gpuAcceleration": "off",
    # What a page that takes the focus would close is a list that a test is about to choose from.
    "workbench.quickOpen.closeOnFocusLost": False,
    "workbench.reduceMotion": "on",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.welcomePage.walkthroughs.openOnInstall": False,
}

# For what every test begins with: the list of all commands costs more than what is chosen from it.
CLOSE_EDITORS = "Control+Alt+Shift+F9"
NEW_SESSION = "Control+Alt+Shift+F10"
KEYS = [
    {"key": "ctrl+alt+shift+f9", "command": "workbench.action.closeAllEditors"},
    {"key": "ctrl+alt+shift+f10", "command": "portico.newSession"},
]


def install(extensions: Path, environ: Mapping[str, str], *packages: Path) -> None:
    """Put the extension, or others, into a folder, unless another worker has done so already."""
    extensions.parent.mkdir(parents=True, exist_ok=True)
    with extensions.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if extensions.exists():
            return
        data, part = extensions.with_suffix(".data"), extensions.with_suffix(".part")
        places = ("--user-data-dir", str(data), "--extensions-dir", str(part))
        for package in packages or (VSIX,):
            words = [found(), *places, "--install-extension", str(package)]
            subprocess.run(words, env=dict(environ), check=True, capture_output=True)
        part.rename(extensions)


def found() -> str:
    if CODE_SERVER is None:
        raise AssertionError(f"There is no VS Code. Build it with make setup, or name one with {VARIABLE}.")
    return CODE_SERVER


def built_in(place: Path) -> Path:
    """A new folder with what VS Code itself brings along, as far as tests use it."""
    place.mkdir(parents=True)
    for name in BUILT_IN:
        (place / name).symlink_to(built_in_extensions(found()) / name)
    return place


class CodeServer:
    """VS Code's own server on loopback. It ends with the test, and so does all that it started."""

    def __init__(
        self,
        home: Path,
        extensions: Path,
        environ: Mapping[str, str],
        *,
        trusting: bool = True,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """One that is not trusting opens folders in restricted mode, without asking."""
        self.data = home / "data"
        self.environ = dict(environ)
        self.address = ""
        self._trusting = trusting
        places = ("--user-data-dir", str(self.data), "--extensions-dir", str(extensions))
        self._places = (*places, "--builtin-extensions-dir", str(built_in(home / "built-in")))
        self._process: subprocess.Popen[str] | None = None
        restricted = {} if trusting else {"security.workspace.trust.startupPrompt": "never"}
        chosen = SETTINGS | restricted | dict(settings or {})
        # Which program to use is a matter of the machine: VS Code looks for that where it runs, not with the window.
        for place, is_machine in (("User", False), ("Machine", True)):
            own = self.data / place / "settings.json"
            own.parent.mkdir(parents=True)
            here = {
                name: value for name, value in chosen.items() if name.startswith("portico.") == is_machine
            }
            own.write_text(json.dumps(here))
        (self.data / "User" / "keybindings.json").write_text(json.dumps(KEYS))

    def start(self) -> None:
        trust = ("--disable-workspace-trust",) if self._trusting else ()
        flags = ("--auth", "none", "--disable-update-check", "--disable-telemetry", *trust)
        self._process = subprocess.Popen(
            [found(), *self._places, *flags, "--bind-addr", "127.0.0.1:0"],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "HTTP server listening on " in line:
                self.address = line.split("HTTP server listening on ")[1].strip().rstrip("/")
            if READY in line:
                return
        raise AssertionError("VS Code ended before it was ready.")

    def end(self) -> None:
        if self._process is None:
            return
        started = psutil.Process(self._process.pid).children(recursive=True)
        self._process.terminate()
        # An extension host of a window that was hardly open waits for a word from it, and holds the pipe open.
        for process in wait_for_death([psutil.Process(self._process.pid), *started], seconds=10):
            process.kill()
        self._process.communicate(timeout=30)
