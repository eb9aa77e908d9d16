"""Walks a folder without version control, dependencies and build results."""

import os
from collections.abc import Iterator
from pathlib import Path

_LEFT_OUT = frozenset(
    {
        "__pycache__",
        "bower_components",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "target",
        "vendor",
        "venv",
    }
)


def walk(root: Path) -> Iterator[Path]:
    """Yield the regular files below a folder in a stable order, without hidden files and links."""
    if root.is_file():
        yield root
        return
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _LEFT_OUT and not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path
