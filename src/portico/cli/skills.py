"""`portico skills`: list, show, allow and deny Agent Skills."""

import argparse
import os
from collections.abc import Sequence

import msgspec

from portico.cli.arguments import CommandGroup, CommandParser, print_json, require_folder
from portico.components.skills.catalog import (
    CatalogSkill,
    SkillCatalog,
    SkillState,
    load_catalog,
    open_grants,
)
from portico.components.skills.skill import SourceKind, list_resources
from portico.domain.errors import InvalidInput
from portico.doors.terminal.sanitizer import clean, clean_line

_DESCRIPTION = (
    "Your Agent Skills, those of this folder and those of its packages, which are off until you allow them."
)
_EXAMPLES = """examples:
  portico skills allow fastapi
  portico skills allow "npm:@tanstack/*"
  portico skills deny workspace:deploy

"""
_SEE_LIST = "See them with: portico skills list"
_PATTERN = "skill, package, or pattern such as pypi:fast* (quote it)"


class ListedSkill(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A skill as `--api` lists it. One with a `problem` cannot be used."""

    id: str
    name: str
    source: SourceKind
    package: str | None
    version: str | None
    state: str
    description: str = ""
    fingerprint: str | None = None
    path: str
    problem: str | None
    resources: Sequence[str] | msgspec.UnsetType = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("skills", _DESCRIPTION, examples=_EXAMPLES)
    listing = group.add("list", "list the skills of this folder, and which of them agents may use", _list)
    show = group.add("show", "print a skill with its source and fingerprint", _show, hint=_SEE_LIST)
    show.add_argument("name", metavar="NAME", help="skill (name or ID)")
    allow = group.add("allow", "let agents use skills of packages as they are now", _allow, hint=_SEE_LIST)
    deny = group.add("deny", "keep agents from using skills", _deny, hint=_SEE_LIST)
    for parser in (allow, deny):
        parser.add_argument("pattern", metavar="PATTERN", nargs="+", help=_PATTERN)
    for parser in (listing, show, allow, deny):
        _add_folder(parser)
    return group.run(arguments)


def _add_folder(parser: CommandParser) -> None:
    parser.add_argument("--cwd", metavar="DIR", default=".", help="folder to work in (default: this one)")


def _list(flags: argparse.Namespace) -> int:
    entries = _catalog(flags).entries
    if flags.api:
        print_json(skills=[_listed(entry) for entry in entries], count=len(entries))
    elif not entries:
        print("No skills yet. Add one as NAME/SKILL.md to .agents/skills of this folder.")
    else:
        _print(entries)
    return 0


def _show(flags: argparse.Namespace) -> int:
    entry = _catalog(flags).find(flags.name)
    text = "" if entry.skill is None else entry.skill.text
    files = [] if entry.skill is None else list_resources(entry.folder)
    if flags.api:
        print_json(skill=msgspec.structs.replace(_listed(entry), text=text, resources=files))
        return 0
    _print([entry])
    print(f"Fingerprint: {entry.skill.fingerprint if entry.skill else 'none'}")
    print(f"Folder: {clean_line(str(entry.folder))}")
    if files:
        print(f"Files: {clean_line(', '.join(files))}")
    print(f"\n{clean(text)}")
    return 0


def _allow(flags: argparse.Namespace) -> int:
    chosen = _chosen(flags)
    broken = [entry for entry in chosen if entry.skill is None]
    if len(broken) == len(chosen):
        raise InvalidInput(f"The skill {broken[0].id} cannot be used: {broken[0].problem}.")
    usable = [entry for entry in chosen if entry.skill is not None]
    open_grants(os.environ).allow((entry.id, entry.skill.fingerprint) for entry in usable if entry.skill)
    return _report(flags, [entry.id for entry in usable], "Allowed")


def _deny(flags: argparse.Namespace) -> int:
    chosen = [entry.id for entry in _chosen(flags)]
    open_grants(os.environ).deny(chosen)
    return _report(flags, chosen, "Denied")


def _chosen(flags: argparse.Namespace) -> list[CatalogSkill]:
    entries = _catalog(flags).entries
    for pattern in flags.pattern:
        if not any(entry.matches(pattern) for entry in entries):
            raise InvalidInput(f'No skill matches "{pattern}".', suggestion=_SEE_LIST)
    return [entry for entry in entries if any(map(entry.matches, flags.pattern))]


def _report(flags: argparse.Namespace, ids: list[str], opening: str) -> int:
    if flags.api:
        entries = [_listed(entry) for entry in _catalog(flags).entries if entry.id in ids]
        print_json(skills=entries, count=len(entries))
        return 0
    for name in ids:
        print(f"{opening}: {clean_line(name)}")
    return 0


def _catalog(flags: argparse.Namespace) -> SkillCatalog:
    return load_catalog(require_folder(flags.cwd), os.environ)


def _print(entries: Sequence[CatalogSkill]) -> None:
    for entry in entries:
        state = f"{entry.state}: {entry.problem}" if entry.state is SkillState.BROKEN else str(entry.state)
        print(clean_line(" ".join(filter(None, (entry.id, entry.source.version, f"({state})")))))
        if entry.skill is not None:
            print(f"  {clean_line(entry.skill.description)}")


def _listed(entry: CatalogSkill) -> ListedSkill:
    about = ListedSkill(
        id=entry.id,
        name=entry.name,
        source=entry.source.kind,
        package=entry.source.package or None,
        version=entry.source.version or None,
        state=entry.state,
        path=str(entry.folder),
        problem=entry.problem or None,
    )
    if entry.skill is None:
        return about
    return msgspec.structs.replace(
        about, description=entry.skill.description, fingerprint=entry.skill.fingerprint
    )
