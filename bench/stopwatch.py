"""Activations and posts of VS Code's extension host, measured by an extension inside it."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from bench.children import AGENTS
from bench.report import MeasurementFailed
from portico.domain import codecs

_TYPES = (
    '<?xml version="1.0" encoding="utf-8"?>'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension=".json" ContentType="application/json"/>'
    '<Default Extension=".js" ContentType="application/javascript"/></Types>'
)


class Activation(msgspec.Struct, frozen=True):
    """Seconds that it took by the clock, and that it kept a processor busy."""

    clock: float
    processor: float


class Stopwatch:
    """One in a folder of its own. VS Code has to be started with its environment, and with its packages installed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken = folder / "taken.json"
        self._posts = folder / "posts"
        folder.mkdir()
        self.packages = tuple(_pack(folder, name) for name in ("empty_extension", "stopwatch_extension"))
        self.environ = {"BENCH_STOPWATCH": str(folder)}

    def set(self, order: Sequence[str]) -> None:
        """Extensions that the next window activates, by their names in VS Code."""
        self._taken.unlink(missing_ok=True)
        (self._folder / "order.json").write_text(json.dumps(order))

    @property
    def has_run(self) -> bool:
        return self._taken.exists()

    def read(self) -> Mapping[str, Activation]:
        return codecs.decode_json(self._taken.read_bytes(), dict[str, Activation])

    def count_posts(self) -> None:
        """Count from now on."""
        self._posts.unlink(missing_ok=True)

    def posts(self) -> Sequence[float]:
        """Times of posts to a page, in seconds since 1970."""
        if not self._posts.is_file():
            raise MeasurementFailed("no post to the page was counted")
        return [float(line) / 1_000 for line in self._posts.read_text().splitlines()]


def _pack(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.vsix"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        for file in sorted((AGENTS / name).iterdir()):
            archive.write(file, f"extension/{file.name}")
    return packed
