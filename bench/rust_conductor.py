"""The Rust conductor, crate `agent-client-protocol-conductor`, as a peer of `portico acp`.

    python -m bench.rust_conductor        build it once with cargo, in a cache outside of the tree

Measurements use it where it is built; they build nothing by themselves.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

CRATE = "agent-client-protocol-conductor"
VERSION = "5.0.0"


def folder() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "portico-bench" / f"{CRATE}-{VERSION}"


def find() -> str | None:
    """Path of the built program; None if it was not built."""
    return shutil.which(str(folder() / "bin" / CRATE))


def build() -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        raise SystemExit("The Rust conductor is built with cargo, which is not on PATH.")
    words = ("install", "--quiet", "--locked", "--root", str(folder()), f"{CRATE}@{VERSION}")
    subprocess.run((cargo, *words), check=True)


def main() -> int:
    if find() is None:
        print(f"Building {CRATE} {VERSION} (once, a few minutes) …", file=sys.stderr)
        build()
    print(find())
    return 0


if __name__ == "__main__":
    sys.exit(main())
