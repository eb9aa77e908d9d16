"""Finds the program of a language server, and prepares it for a tree.

A folder that is not trusted chooses no program: then only PATH and the user's own installations are looked at.
"""

import os
import secrets
import sys
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from portico.config.paths import cache_folder, config_folder
from portico.config.settings import load_settings
from portico.domain.errors import LanguageServerFailed
from portico.domain.provider_keys import without_provider_keys
from portico.editors.language_servers.catalog import server_catalog
from portico.editors.language_servers.specification import LanguageServerSpec, ServerCommand
from portico.processes.executables import CannotRun, find_program
from portico.processes.relocation import relocated_environ

_PROJECT_FOLDERS = (Path(".venv/bin"), Path(".venv/Scripts"), Path("node_modules/.bin"))
_INSTALLED_FOLDERS = (Path("bin"), Path("Scripts"), Path("node_modules/.bin"))
_DATA = "${data}"


INSTALLED = ".installed"
"""The file that says that an installation is complete."""


def installation_folder(spec: LanguageServerSpec, environ: Mapping[str, str]) -> Path:
    """The folder of a server in the user's cache, with another name for other versions."""
    packages = spec.recipe.packages if spec.recipe is not None else ()
    versions = zlib.crc32(" ".join(packages).encode())
    return cache_folder(environ) / "language-servers" / f"{spec.name}-{versions:08x}"


def find_server_program(
    spec: LanguageServerSpec, workspace: Path, environ: Mapping[str, str], *, trusted: bool
) -> str | None:
    """The program of a server: the project's, one on PATH, or an installed one; None if there is none."""
    name = spec.command[0]
    if trusted and name == Path(name).name:
        for folder in _PROJECT_FOLDERS:
            if (found := _program(workspace / folder, name, environ)) is not None:
                return found
    try:
        found = _behind_rustup(find_program(name, cwd=workspace, environ=environ), environ)
    except CannotRun:
        found = None
    installed = installation_folder(spec, environ)
    if found is not None or not (installed / INSTALLED).exists():
        return found
    own = (Path(spec.recipe.programs),) if spec.recipe is not None and spec.recipe.programs else ()
    programs = (_program(installed / folder, name, environ) for folder in (*own, *_INSTALLED_FOLDERS))
    return next((program for program in programs if program is not None), None)


def usable_servers(
    specs: Sequence[LanguageServerSpec], workspace: Path, environ: Mapping[str, str], *, trusted: bool
) -> list[LanguageServerSpec]:
    """The servers that are installed and may work on a folder. Blocks."""
    return [
        spec
        for spec in specs
        if (trusted or spec.untrusted_settings is not None)
        and find_server_program(spec, workspace, environ, trusted=trusted) is not None
    ]


def has_servers(workspace: Path, environ: Mapping[str, str]) -> bool:
    """Whether any language server is installed that may work on a folder. Blocks."""
    settings = load_settings(config_folder(environ), workspace)
    catalog = server_catalog(settings.language_servers)
    return bool(usable_servers(catalog, workspace, environ, trusted=settings.trusted))


def prepare(
    spec: LanguageServerSpec, workspace: Path, tree: Path, environ: Mapping[str, str], *, trusted: bool
) -> ServerCommand:
    """A server ready to be started in a tree. LanguageServerFailed says why it cannot be. Blocks."""
    if not trusted and spec.untrusted_settings is None:
        raise LanguageServerFailed(
            f"{spec.name} runs code of the folder it works on, and {workspace} is not trusted.",
            suggestion=f'If you trust it, add "{workspace}" to "trustedWorkspaces" in your settings.',
        )
    program = find_server_program(spec, workspace, environ, trusted=trusted)
    if program is None:
        install = spec.hint
        if spec.recipe is not None:
            hint = f". {spec.hint}" if spec.hint else ""
            install = f"Install it with: portico code servers install {spec.name}{hint}"
        raise LanguageServerFailed(
            f"The language server {spec.name} is not installed.",
            suggestion=install or f"Check its command in the settings: {spec.command[0]}",
        )
    known = {
        "python": _interpreter(workspace, environ, trusted=trusted),
        "modules": _modules_folder(Path(program)),
    }
    settings, initialization = dict(spec.settings), dict(spec.initialization)
    if not trusted:
        settings |= spec.untrusted_settings or {}
        initialization |= spec.untrusted_initialization
    variables = {**without_provider_keys(environ), **spec.env}
    if tree != workspace:
        variables = relocated_environ(variables, workspace=workspace, folder=tree)
    data = None
    if _DATA in spec.command:
        data = cache_folder(environ) / "language-servers" / f"data-{secrets.token_hex(8)}"
    return ServerCommand(
        spec=spec,
        command=(program, *(str(data) if word == _DATA else word for word in spec.command[1:])),
        tree=tree,
        environ=variables,
        settings=_filled(settings, known),
        initialization=_filled(initialization, known),
        data=data,
    )


def _program(folder: Path, name: str, environ: Mapping[str, str]) -> str | None:
    path = folder / (f"{name}.exe" if sys.platform == "win32" else name)
    try:
        return find_program(str(path), cwd=folder, environ=environ)
    except CannotRun:
        return None


def _interpreter(workspace: Path, environ: Mapping[str, str], *, trusted: bool) -> str | None:
    """The Python of the project, which the server may run to learn where its packages are."""
    active = environ.get("VIRTUAL_ENV", "")
    places = ([workspace / ".venv"] if trusted else []) + ([Path(active)] if active else [])
    for place in places:
        program = place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        inside = os.path.realpath(place).startswith(os.path.realpath(workspace) + os.sep)
        if program.is_file() and (trusted or not inside):
            return str(program)
    return None


def _modules_folder(program: Path) -> str | None:
    """The folder `node_modules` that a program is installed in."""
    for place in Path(os.path.realpath(program)).parents:
        if place.name == "node_modules":
            return str(place)
    return None


def _filled(value: Any, known: Mapping[str, str | None]) -> Any:
    """Options with their placeholders replaced; entries with unknown ones are left out."""
    if isinstance(value, Mapping):
        filled = {name: _filled(part, known) for name, part in value.items()}
        return {name: part for name, part in filled.items() if part is not None}
    if isinstance(value, str) and value.startswith("${"):
        name, _, rest = value[2:].partition("}")
        found = known.get(name)
        return None if found is None else found + rest
    return value


def _behind_rustup(program: str, environ: Mapping[str, str]) -> str | None:
    """The program itself, or what rustup runs in its place; None if the default toolchain does not have it.

    rustup is on PATH for every program of a Rust toolchain, whether the toolchain has it or not.

    The toolchain's own program is returned, since rustup may download another toolchain that a folder names. Blocks.
    """
    rustup = Path(program).with_name("rustup")
    try:
        if not rustup.samefile(program):
            return program
    except OSError:
        return program
    home = Path(environ.get("RUSTUP_HOME") or Path(environ.get("HOME") or Path.home()) / ".rustup")
    try:
        toolchain = (
            environ.get("RUSTUP_TOOLCHAIN")
            or tomllib.loads((home / "settings.toml").read_text())["default_toolchain"]
        )
    except (OSError, ValueError, KeyError):
        return None
    found = home / "toolchains" / str(toolchain) / "bin" / Path(program).name
    return str(found) if os.access(found, os.X_OK) else None
