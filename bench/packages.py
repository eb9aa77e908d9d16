"""Sources of packages: a cached one, a fresh one, and a search over 200 MB of them beside ripgrep.

The fresh package is in an index on the disk, so that no network is measured. `registries` fetches small, pinned
packages from the real registries of five ecosystems, with an empty cache, and runs only when it is named.
"""

import asyncio
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, take_turns_waiting
from portico.components.packages.library import PackageLibrary
from portico.components.packages.package import Ecosystem, PackageName
from portico.components.packages.text_search import PackageTextQuery, search_tree
from portico.components.packages.tree import PackageTree
from portico.domain.errors import PorticoError

ROUNDS = 5
SEARCHED_BYTES = 200_000_000
_MODULES = 400
_RARE = "needle in the sources"
PINNED: tuple[tuple[Ecosystem, str, str], ...] = (
    ("crates", "itoa", "1.0.11"),
    ("pypi", "iniconfig", "2.0.0"),
    ("npm", "is-odd", "3.0.1"),
    ("go", "github.com/google/uuid", "v1.6.0"),
    ("maven", "org.slf4j:slf4j-api", "2.0.13"),
)


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


def measure_registries() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        lines = asyncio.run(_fetch_pinned(Path(folder)))
    return Section(title="Packages from the real registries, with an empty cache", lines=lines)


async def _measure(folder: Path) -> Section:
    environ = _environ(folder)
    size = _write_index(folder)
    _write_sources(folder / "sources")
    timed = await take_turns_waiting(
        {
            "fresh": lambda: _time_source(folder, environ, fresh=True),
            "cached": lambda: _time_source(folder, environ, fresh=False),
            "portico": lambda: _time_search(folder / "sources", environ),
            "ripgrep": lambda: _time_ripgrep(folder / "sources", environ),
            "without": lambda: _time_search(folder / "sources", {**environ, "PATH": str(folder)}),
        },
        ROUNDS,
    )
    samples = {name: Samples(tuple(values)) for name, values in timed.items()}
    megabytes = SEARCHED_BYTES // 1_000_000
    return Section(
        title="Sources of packages",
        lines=(
            Line(
                what="source of a cached package",
                samples=samples["cached"],
                unit="seconds",
                budget=Budget("at most", 0.05),
            ),
            Line(
                what=f"source of a fresh one of {_MODULES} files, {size // 1000} kB packed",
                samples=samples["fresh"],
                unit="seconds",
                budget=Budget("at most", 0.5),
            ),
            Line(what=f"search over {megabytes} MB", samples=samples["portico"], unit="seconds"),
            Line(what="ripgrep alone", samples=samples["ripgrep"], unit="seconds"),
            ratio("search over ripgrep", samples["portico"], samples["ripgrep"], Budget("at most", 2.0)),
            Line(what="search where ripgrep is missing", samples=samples["without"], unit="seconds"),
        ),
    )


def _environ(folder: Path) -> dict[str, str]:
    """A user whose pip uses the index on the disk, with the ripgrep of the development environment."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    index = (folder / "simple").as_uri()
    return {
        "PATH": programs,
        "HOME": str(folder),
        "PORTICO_HOME": str(folder / "portico"),
        "PIP_INDEX_URL": index,
    }


def _write_index(folder: Path) -> int:
    """A wheel of many modules, and the index that lists it; the size of the wheel."""
    raw = io.BytesIO()
    text = Path(asyncio.__file__).read_text(encoding="utf-8")
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as wheel:
        for number in range(_MODULES):
            wheel.writestr(f"fresh/module{number}.py", f"# {number}\n{text}")
    place = folder / "simple" / "fresh"
    place.mkdir(parents=True)
    name = "fresh-1.0.0-py3-none-any.whl"
    (place / name).write_bytes(raw.getvalue())
    checksum = hashlib.sha256(raw.getvalue()).hexdigest()
    (place / "index.html").write_text(f'<a href="{name}#sha256={checksum}">{name}</a>')
    return len(raw.getvalue())


def _write_sources(folder: Path) -> None:
    """Modules of the standard library, over and over, and one line that none of them has."""
    texts = [path.read_bytes() for path in sorted(Path(asyncio.__file__).parent.parent.glob("*.py"))]
    size = number = 0
    while size < SEARCHED_BYTES:
        place = folder / f"package{number:03}"
        place.mkdir(parents=True)
        for position, text in enumerate(texts):
            (place / f"module{position:03}.py").write_bytes(text)
            size += len(text)
        number += 1
    (folder / "package000" / "last.py").write_text(f"# {_RARE}\n")


async def _time_source(folder: Path, environ: Mapping[str, str], *, fresh: bool) -> float:
    if fresh:
        shutil.rmtree(folder / "portico", ignore_errors=True)
    started = time.perf_counter()
    source = await PackageLibrary(folder / "simple", environ).source(PackageName("pypi", "fresh"), "1.0.0")
    taken = time.perf_counter() - started
    if source.version != "1.0.0" or not (source.tree.root / "fresh" / "module0.py").is_file():
        raise MeasurementFailed("the package is not there")
    return taken


async def _time_search(folder: Path, environ: Mapping[str, str]) -> float:
    started = time.perf_counter()
    found = await search_tree(PackageTree(root=folder), PackageTextQuery(text=_RARE), environ, limit=100)
    taken = time.perf_counter() - started
    if [one.path for one in found.matches] != ["package000/last.py"]:
        raise MeasurementFailed(f"the search found {found.matches}")
    return taken


async def _time_ripgrep(folder: Path, environ: Mapping[str, str]) -> float:
    command = ("rg", "--no-ignore", "--hidden", "--fixed-strings", "--line-number", _RARE, ".")
    started = time.perf_counter()
    ran = await asyncio.to_thread(
        subprocess.run, command, cwd=folder, env=dict(environ), capture_output=True, check=False
    )
    if b"last.py" not in ran.stdout:
        raise MeasurementFailed(f"ripgrep found nothing: {ran.stderr.decode(errors='replace')}")
    return time.perf_counter() - started


async def _fetch_pinned(folder: Path) -> tuple[Line, ...]:
    """Each package once from its registry and once from the cache, in homes of their own for cargo and go."""
    own = {"CARGO_HOME": str(folder / "cargo"), "GOMODCACHE": str(folder / "go"), "GOFLAGS": "-modcacherw"}
    environ = {**os.environ, "PORTICO_HOME": str(folder / "portico"), **own}
    lines = []
    for ecosystem, name, version in PINNED:
        for again in ("from the registry", "from the cache"):
            started = time.perf_counter()
            try:
                source = await PackageLibrary(folder, environ).source(PackageName(ecosystem, name), version)
            except PorticoError as error:
                raise MeasurementFailed(f"{name}: {error.message}") from error
            taken = Samples((time.perf_counter() - started,))
            files = sum(1 for _ in source.tree.files())
            verified = source.verified or "not verified"
            what = f"{ecosystem} {name} {version} {again}: {files} files, {verified}"
            lines.append(Line(what=what, samples=taken, unit="seconds"))
    return tuple(lines)
