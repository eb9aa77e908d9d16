"""Checks from its files whether an agent's program can run, without starting it.

A program can be on PATH and still be unable to run: its script was removed, or packages that it needs were never
installed.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.files.regular import read_regular
from portico.processes.executables import CannotRun, find_program

_INTERPRETERS = ("bun", "node", "python", "ruby", "sh", "bash")
_SCRIPTS = frozenset({".cjs", ".js", ".mjs", ".py", ".rb", ".sh"})
_NODE_SCRIPTS = frozenset({".cjs", ".js", ".mjs"})
_LINE = 256
_MANIFEST_LIMIT = 1024 * 1024


class _Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """The dependencies in the `package.json` of a Node package."""

    name: str = ""
    dependencies: dict[str, str] = {}
    optional_dependencies: dict[str, str] = {}


def check_installation(command: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> None:
    """CannotRun if the program of a command, or files that it needs, are missing."""
    program = Path(find_program(command[0], cwd=cwd, environ=environ))
    if program.stat().st_size == 0:
        raise CannotRun(f"{program} is empty", suggestion="Install it again.")
    script = _script(program, command[1:], cwd)
    if script is None:
        return
    if not script.is_file():
        raise CannotRun(f"{script} does not exist", suggestion="Install it again, or correct its command.")
    if script.suffix in _NODE_SCRIPTS or _runs_on_node(script):
        _check_packages(script)


def _script(program: Path, arguments: Sequence[str], cwd: Path) -> Path | None:
    """The script of a command: the program itself, or the first file among an interpreter's arguments."""
    if not program.name.startswith(_INTERPRETERS):
        return program.resolve()
    named = (Path(word) for word in arguments if not word.startswith("-"))
    first = next((path for path in named if path.suffix in _SCRIPTS), None)
    return None if first is None else (cwd / first).resolve()


def _runs_on_node(script: Path) -> bool:
    try:
        with script.open("rb") as file:
            first = file.read(_LINE).split(b"\n", 1)[0]
    except OSError:
        return False  # A program need not be readable to be run.
    return first.startswith(b"#!") and b"node" in first


def _check_packages(script: Path) -> None:
    folder = next((one for one in script.parents if (one / "package.json").is_file()), None)
    if folder is None or any((one / ".pnp.cjs").exists() for one in folder.parents):
        return
    try:
        manifest = codecs.decode_json(read_regular(folder / "package.json", limit=_MANIFEST_LIMIT), _Manifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    remedy = f"Install it again: npm install --global {manifest.name}"
    optional = manifest.optional_dependencies
    missing = [
        name for name in manifest.dependencies if name not in optional and not _is_installed(name, folder)
    ]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise CannotRun(
            f"{manifest.name} needs the package {missing[0]}{more}, not installed", suggestion=remedy
        )
    # Programs for each kind of machine come as optional packages; npm installs the one that fits.
    builds = [name for name in optional if name.startswith(manifest.name)]
    if builds and not any(_is_installed(name, folder) for name in builds):
        raise CannotRun(f"none of the programs of {manifest.name} is installed", suggestion=remedy)


def _is_installed(package: str, folder: Path) -> bool:
    return any((place / package / "package.json").is_file() for place in _package_folders(folder))


def _package_folders(folder: Path) -> Iterator[Path]:
    """Folders in which Node looks for the dependencies of a package in this folder."""
    for place in (folder, *folder.parents):
        if place.name != "node_modules":
            yield place / "node_modules"
