"""Relocation of a copied Python environment: its scripts and links to source name the working copy.

Without this, a test run in a working copy would import the person's files instead of the proposed ones.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from portico.files import real_path

_LARGEST_BYTES = 256 * 1024
_MARK = "pyvenv.cfg"


def relocate(folder: Path, old: Path, new: Path) -> None:
    """Rewrite paths below `old` to `new` in an environment that was copied to `folder`; do nothing in others."""
    if not (folder / _MARK).is_file():
        return
    before, after = os.fsencode(old), os.fsencode(new)
    for place in _naming_places(folder):
        with contextlib.suppress(OSError):
            data = real_path.read(place, limit=_LARGEST_BYTES)
            if before in data and b"\0" not in data:
                modified_ns = real_path.lstat(place).st_mtime_ns
                with open(real_path.open_file(place, os.O_RDWR), "r+b") as file:  # noqa: PTH123 - of a descriptor
                    file.write(_replaced(data, before, after))
                    file.truncate()
                    file.flush()
                    os.utime(
                        file.fileno() if os.utime in os.supports_fd else place, ns=(modified_ns, modified_ns)
                    )


def _naming_places(folder: Path) -> Iterator[Path]:
    yield folder / _MARK
    for scripts in ("bin", "Scripts"):
        yield from (folder / scripts).glob("*")
    for pattern in ("*.pth", "*.egg-link", "__editable__*.py", "*.dist-info/direct_url.json"):
        yield from folder.glob(f"lib/python*/site-packages/{pattern}")
        yield from folder.glob(f"Lib/site-packages/{pattern}")


def _replaced(data: bytes, before: bytes, after: bytes) -> bytes:
    """Replace a path where it ends, so that a longer name with the same beginning stays."""
    parts = data.split(before)
    joined = parts[0]
    for part in parts[1:]:
        ends = not part or part[:1] in b"/\\\"' \r\n\t:;)"
        joined += (after if ends else before) + part
    return joined
