"""The replacement for crates.io in the user's configuration of cargo.

`cargo info` does not follow a replacement by itself: it wants to be told which registry is meant.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from portico.files.regular import read_regular

_LARGEST = 1024 * 1024
_MOST_STEPS = 10


class CargoSource(msgspec.Struct, frozen=True):
    """The flags that choose a registry, or the folder of a local one."""

    flags: tuple[str, ...] = ()
    folder: Path | None = None


def cargo_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CARGO_HOME") or Path(environ.get("HOME") or Path.home()) / ".cargo")


def read_cargo_source(environ: Mapping[str, str]) -> CargoSource:
    """The source from which cargo takes the crates of crates.io. Blocks."""
    home = cargo_home(environ)
    config = _read(home / "config.toml") or _read(home / "config")
    sources, registries = _table(config, "source"), _table(config, "registries")
    name = "crates-io"
    for _ in range(_MOST_STEPS):
        following = _table(sources, name).get("replace-with")
        if not isinstance(following, str):
            break
        name = following
    if name == "crates-io":
        return CargoSource()
    if name in registries:
        return CargoSource(("--registry", name))
    source = _table(sources, name)
    if isinstance(source.get("registry"), str):
        return CargoSource(("--index", source["registry"]))
    folder = source.get("local-registry")
    return CargoSource(folder=home.parent / folder) if isinstance(folder, str) else CargoSource()


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_regular(path, limit=_LARGEST).decode())
    except (OSError, ValueError):
        return {}


def _table(config: dict[str, Any], name: str) -> dict[str, Any]:
    table = config.get(name)
    return table if isinstance(table, dict) else {}
