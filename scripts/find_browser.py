"""Says where Chromium is, for the tests that look at the real page; gets Debian's where there is none.

--install tries to install it. Without it, the answer is a path or an explanation of how to get one.
"""

import os
import shutil
import subprocess
import sys

# The headless shell renders the same pages for a fifth less of the processor: it has no windows to paint.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
VARIABLE = "PORTICO_CHROMIUM"


def find() -> str | None:
    named = os.environ.get(VARIABLE)
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> None:
    if not shutil.which("apt-get"):
        return
    for package in ("chromium-headless-shell", "chromium"):
        if apt("install", "--yes", package) or (apt("update") and apt("install", "--yes", package)):
            return


def apt(*arguments: str) -> bool:
    root = [] if not hasattr(os, "geteuid") or os.geteuid() == 0 else ["sudo", "--non-interactive"]
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        [*root, "apt-get", "-qq", *arguments], stdout=subprocess.DEVNULL, env=environ, check=False
    )
    return done.returncode == 0


def main() -> int:
    if find() is None and "--install" in sys.argv[1:]:
        print("Installing Chromium for the browser tests (once) …", file=sys.stderr)
        install()
    found = find()
    if found is None:
        print(
            f"The browser tests need Chromium. Install it, or name one with {VARIABLE}=/path/to/chromium.",
            file=sys.stderr,
        )
        return 1
    print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
