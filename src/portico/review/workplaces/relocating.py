"""Makes a copied Python environment mean the copy: its scripts and its links to source name places by full path.

Without this, a test run in a workplace would import the person's files instead of the proposed ones.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_LARGEST_BYTES = 256 * 1024
_MARK = "pyvenv.cfg"


def relocate(folder: Path, old: Path, new: Path) -> None:
    """Rewrite paths below `old` to `new` in an environment that was copied to `folder`; do nothing in others."""
    if not (folder / _MARK).is_file():
        return
    before, after = os.fsencode(old), os.fsencode(new)
    for place in _naming_places(folder):
        with contextlib.suppress(OSError):
            facts = place.lstat()
            if place.is_symlink() or not place.is_file() or facts.st_size > _LARGEST_BYTES:
                continue
            data = place.read_bytes()
            if before in data and b"\0" not in data:
                place.write_bytes(_replaced(data, before, after))
                os.utime(place, ns=(facts.st_mtime_ns, facts.st_mtime_ns))


def _naming_places(folder: Path) -> Iterator[Path]:
    yield folder / _MARK
    for scripts in ("bin", "Scripts"):
        yield from (folder / scripts).glob("*")
    for pattern in ("*.pth", "*.egg-link", "__editable__*.py", "*.dist-info/direct_url.json"):
        yield from folder.glob(f"lib/python*/site-packages/{pattern}")
        yield from folder.glob(f"Lib/site-packages/{pattern}")


def _replaced(data: bytes, before: bytes, after: bytes) -> bytes:
    """Where the path ends there, so that a neighbour with a longer name stays."""
    parts = data.split(before)
    joined = parts[0]
    for part in parts[1:]:
        ends = not part or part[:1] in b"/\\\"' \r\n\t:;)"
        joined += (after if ends else before) + part
    return joined
