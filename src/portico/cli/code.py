"""`portico code servers`: list and install language servers."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from portico.app.program_log import configure_log
from portico.cli.arguments import CommandGroup, print_json
from portico.config.paths import config_folder
from portico.config.settings import load_settings
from portico.domain.errors import InvalidInput
from portico.doors.terminal.output import is_plain_output
from portico.doors.terminal.sanitizer import clean_line
from portico.editors.language_servers.catalog import server_catalog
from portico.editors.language_servers.installation import install
from portico.editors.language_servers.programs import find_server_program
from portico.editors.language_servers.specification import LanguageServerSpec

_EXAMPLES = """examples:
  portico code servers list
  portico code servers install basedpyright

"""
_WIDEST = 79


class ListedServer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A language server, and how it would be started in this folder."""

    name: str
    extensions: list[str]
    program: str = ""
    packages: list[str] = []
    """Packages that would be installed."""
    reason: str = ""
    """Reason why it cannot be used here."""


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup(
        "code servers", "Language servers, which answer questions about code.", examples=_EXAMPLES
    )
    group.add("list", "list the language servers, and which of them are installed", _list)
    adding = group.add(
        "install",
        "install a language server into the cache",
        _install,
        hint="See them with: portico code servers list",
    )
    adding.add_argument("name", metavar="NAME", help="language server, as listed")
    configure_log()
    words = list(arguments)
    if words[:1] == ["servers"]:
        return group.run(words[1:])
    if {"-h", "--help"} & set(words):
        return group.run(["--help"])
    raise InvalidInput("portico code needs “servers”.", suggestion="See portico code servers --help")


def _catalog() -> tuple[list[LanguageServerSpec], bool]:
    settings = load_settings(config_folder(os.environ), Path.cwd())
    return server_catalog(settings.language_servers), settings.trusted


def _list(flags: argparse.Namespace) -> int:
    catalog, trusted = _catalog()
    found = [_listed(spec, trusted=trusted) for spec in catalog]
    if flags.api:
        print_json(servers=found)
        return 0
    width = max(len(one.name) for one in found)
    for one in found:
        ready = one.program and not one.reason
        state = one.reason or one.program or (f"installs {', '.join(one.packages)}" if one.packages else "")
        print(f"{'✓' if ready else '·'} {one.name:<{width}}  {' '.join(one.extensions)}  {clean_line(state)}")
    print("\nInstall one with: portico code servers install NAME")
    return 0


def _listed(spec: LanguageServerSpec, *, trusted: bool) -> ListedServer:
    program = find_server_program(spec, Path.cwd(), os.environ, trusted=trusted)
    if not trusted and spec.untrusted_settings is None:
        reason = "runs code of the folder; this one is not trusted"
    else:
        reason = spec.hint if program is None and spec.recipe is None else ""
    return ListedServer(
        name=spec.name,
        extensions=list(spec.languages),
        program=program or "",
        packages=list(spec.recipe.packages) if spec.recipe is not None else [],
        reason=reason,
    )


def _install(flags: argparse.Namespace) -> int:
    catalog, _ = _catalog()
    spec = next((spec for spec in catalog if spec.name == flags.name), None)
    if spec is None:
        known = ", ".join(spec.name for spec in catalog)
        raise InvalidInput(f'Unknown language server "{flags.name}". Available: {known}.')
    moves = not flags.api and not is_plain_output(sys.stderr, os.environ.get("TERM", ""))

    def report(line: str) -> None:
        if moves:
            print(f"\r\x1b[K{clean_line(line)[:_WIDEST]}", end="", file=sys.stderr, flush=True)
        elif not flags.api:
            print(clean_line(line), file=sys.stderr)

    folder = asyncio.run(install(spec, os.environ, report))
    if moves:
        print("\r\x1b[K", end="", file=sys.stderr)
    packages = list(spec.recipe.packages) if spec.recipe is not None else []
    if flags.api:
        print_json(status="ok", server=spec.name, packages=packages, folder=str(folder))
    else:
        print(f"Installed {', '.join(packages)} in {folder}.")
    return 0
