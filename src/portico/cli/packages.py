"""`portico packages`: the sources of packages that agents have read, and those of one package."""

import argparse
import asyncio
import os
from collections.abc import Sequence
from typing import get_args

import msgspec

from portico.cli.arguments import CommandGroup, by_prefix, print_json, require_folder
from portico.components.packages.cache import CachedPackage, PackageCache
from portico.components.packages.library import PackageLibrary
from portico.components.packages.package import Ecosystem, PackageName
from portico.components.packages.research.history import FindingsStore
from portico.domain.errors import InvalidInput
from portico.domain.timestamps import format_time
from portico.doors.terminal.sanitizer import StreamCleaner, clean_line

_ECOSYSTEMS: tuple[Ecosystem, ...] = get_args(Ecosystem)
_NAME = "such as serde, requests, @types/node, golang.org/x/text or org.slf4j:slf4j-api"
_SEE_RESEARCH = "See them with: portico packages research"
_EXAMPLES = "examples:\n  portico packages show pypi requests\n  portico packages clean npm react\n\n"


class ShownPackage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A package as `--api` shows it."""

    ecosystem: Ecosystem
    name: str
    version: str
    version_origin: str
    source: str
    verified: str
    folder: str
    entries: tuple[str, ...]
    files: int
    size: int
    notes: tuple[str, ...]


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("packages", "The sources of packages, for agents to read.", examples=_EXAMPLES)
    group.add("list", "list the packages in the cache, the last used first", _list)
    show = group.add("show", "show where the sources of a package are, fetching them if needed", _show)
    research = group.add("research", "list what agents found out about packages, the newest first", _research)
    research.add_argument(
        "id", metavar="ID", nargs="?", help="findings to show in full (ID or unique prefix)"
    )
    clean = group.add("clean", "remove packages from the cache", _clean)
    for parser, needed in ((show, None), (clean, "?")):
        parser.add_argument(
            "ecosystem", metavar="ECOSYSTEM", nargs=needed, help=f"registry: {', '.join(_ECOSYSTEMS)}"
        )
        parser.add_argument("name", metavar="NAME", nargs=needed, help=f"package, {_NAME}")
        parser.add_argument("version", metavar="VERSION", nargs="?", default="", help="version or range")
    show.add_argument(
        "--cwd", metavar="DIR", default=".", help="workspace whose version to use (default: this folder)"
    )
    return group.run(arguments)


def _list(flags: argparse.Namespace) -> int:
    cache = PackageCache(os.environ)
    found = cache.list()
    if flags.api:
        print_json(packages=found, folder=str(cache.folder), size=sum(one.size for one in found))
        return 0
    if not found:
        print("No package is in the cache.")
        return 0
    width = max(len(_title(one)) for one in found)
    for one in found:
        print(f"{_title(one):<{width}}  {one.ecosystem:<6}  {_bytes(one.size):>9}  {one.source}")
    print(f"{_sum(found)} in {cache.folder}")
    return 0


def _show(flags: argparse.Namespace) -> int:
    name = _package_name(flags)
    library = PackageLibrary(require_folder(flags.cwd), os.environ)
    source = asyncio.run(library.source(name, flags.version))
    files = list(source.tree.files())
    shown = ShownPackage(
        ecosystem=name.ecosystem,
        name=source.name.name,
        version=source.version,
        version_origin=source.version_origin,
        source=source.source,
        verified=source.verified,
        folder=str(source.tree.root),
        entries=source.tree.entries,
        files=len(files),
        size=sum(one.size for one in files),
        notes=source.notes,
    )
    if flags.api:
        print_json(package=shown)
        return 0
    print(f"{shown.name} {shown.version}, {shown.version_origin}")
    print(f"  source    {shown.source}" + (f", verified: {shown.verified}" if shown.verified else ""))
    print(f"  folder    {shown.folder}")
    print(f"  contents  {shown.files:,} files, {_bytes(shown.size)}")
    for note in shown.notes:
        print(f"  note      {clean_line(note)}")
    return 0


def _research(flags: argparse.Namespace) -> int:
    found = FindingsStore(os.environ).all()
    if flags.id is not None:
        key = by_prefix([one.key for one in found], flags.id, "findings", hint=_SEE_RESEARCH)
        found = [one for one in found if one.key == key]
    if flags.api:
        print_json(research=found)
        return 0
    if not found:
        print("No package has been researched yet.")
    for one in found:
        title = f"{one.name} {one.version} ({one.ecosystem})"
        print(f"{one.key[:8]}  {format_time(one.at)[:16]}  {title}  {clean_line(one.question)}")
        if flags.id is not None:
            print(StreamCleaner().feed(one.answer))
    return 0


def _clean(flags: argparse.Namespace) -> int:
    cache = PackageCache(os.environ)
    if flags.ecosystem is None:
        removed = cache.list()
        cache.clean()
    else:
        name = _package_name(flags)
        removed = [one for one in cache.versions(name) if flags.version in ("", one.version)]
        if not removed:
            raise InvalidInput(
                f"{name} {flags.version}".rstrip() + " is not in the cache.",
                suggestion="List the cached packages with: portico packages list",
            )
        for one in removed:
            cache.remove(one)
    if flags.api:
        print_json(removed=removed, size=sum(one.size for one in removed))
    else:
        print(f"Removed {_sum(removed)}.")
    return 0


def _package_name(flags: argparse.Namespace) -> PackageName:
    ecosystem = next((one for one in _ECOSYSTEMS if one == flags.ecosystem), None)
    if ecosystem is None:
        raise InvalidInput(
            f'Unknown ecosystem "{flags.ecosystem}". Available: {", ".join(_ECOSYSTEMS)}.',
            suggestion="For example: portico packages show pypi requests",
        )
    if flags.name is None:
        raise InvalidInput(
            f"portico packages {flags.action} {ecosystem} needs NAME.",
            suggestion="To remove everything, leave out the ecosystem too.",
        )
    return PackageName.parse(ecosystem, flags.name)


def _title(package: CachedPackage) -> str:
    return f"{package.name} {package.version}"


def _sum(packages: Sequence[CachedPackage]) -> str:
    count = "1 package" if len(packages) == 1 else f"{len(packages)} packages"
    return f"{count}, {_bytes(sum(one.size for one in packages))}"


def _bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
