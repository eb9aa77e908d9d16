"""`portico prompts`: list, show, render and run prompt files."""

import argparse
import os
import sys
from collections.abc import Sequence

import msgspec

from portico.app.prompt_catalog import open_prompts
from portico.cli.arguments import CommandGroup, print_json, require_folder, require_utf8
from portico.cli.prompt_values import add_value_flags, fill_prompt
from portico.doors.terminal.sanitizer import clean, clean_line
from portico.processes.garbage_collection import PausedCollection
from portico.prompts.catalog import CatalogEntry, PromptCatalog
from portico.prompts.directories import PromptOrigin
from portico.prompts.front_matter import FrontMatter, PromptMode, PromptOutput, PromptVariable

_DESCRIPTION = """Prompts kept as files: NAME.md in .portico/prompts of this folder, in prompts of your configuration, or in
the folders of the setting promptDirectories."""
_EXAMPLES = """examples:
  portico prompts render translate --set language=French
  portico prompts run explain src/app.py
  git diff --staged | portico prompts run commit-message -
  portico prompts run translate notes.md --set language=French --output notes.fr.md

"""
_SEE_LIST = "See them with: portico prompts list"


class ListedPrompt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A prompt as `--api` lists it. One with a `problem` cannot be used."""

    name: str
    origin: PromptOrigin
    path: str
    digest: str | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    version: str | None = None
    variables: tuple[PromptVariable, ...] = ()
    model: str | None = None
    mode: PromptMode | None = None
    output: PromptOutput = "chat"
    budget: str | None = None
    warnings: tuple[str, ...] = ()
    problem: str | None
    hides: str | None
    hidden_by: str | None
    text: str | msgspec.UnsetType = msgspec.UNSET


class PromptProvenance(msgspec.Struct, frozen=True, kw_only=True):
    """The source of a rendered prompt: its file, and the values of its variables."""

    name: str
    path: str
    origin: PromptOrigin
    digest: str
    variables: dict[str, str]
    session: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    defaults: dict[str, str]


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("prompts", _DESCRIPTION, examples=_EXAMPLES)
    listing = group.add("list", "list the prompts of this folder, and what is wrong with them", _list)
    show = group.add("show", "print a prompt with its variables and its file", _show, hint=_SEE_LIST)
    render = group.add("render", "print a prompt with its variables filled in", _render, hint=_SEE_LIST)
    running = group.add(
        "run", "fill in a prompt, send it to an agent and keep the answer", _run, hint=_SEE_LIST
    )
    listing.add_argument(
        "--tag",
        metavar="TAG",
        action="append",
        default=[],
        help="only prompts with this tag; may be repeated",
    )
    for parser in (show, render, running):
        parser.add_argument("name", metavar="NAME", help="name of the prompt")
    add_value_flags(render)
    for parser in (listing, show, render):
        parser.add_argument("--cwd", metavar="DIR", default=".", help="folder to work in (default: this one)")
    if "run" in arguments:
        # Only now: what talks to agents takes a while to load.
        with PausedCollection():
            from portico.cli.prompt_run import add_run_flags

        add_run_flags(running)
    return group.run(arguments)


def _run(flags: argparse.Namespace) -> int:
    from portico.cli.prompt_run import run_prompt

    return run_prompt(flags)


def _list(flags: argparse.Namespace) -> int:
    catalog = _catalog(flags)
    entries = [
        one
        for one in catalog.entries()
        if not flags.tag or (one.prompt and set(flags.tag) <= set(one.prompt.matter.tags))
    ]
    if flags.api:
        print_json(prompts=[_listed(entry) for entry in entries], count=len(entries))
        return 0
    if not entries:
        print(f"No prompt has the tag {clean_line(' and '.join(flags.tag))}.")
        return 0
    width = max(len(clean_line(entry.name)) for entry in entries)
    for entry in entries:
        print(f"{clean_line(entry.name):<{width}}  {entry.origin:<9}  {clean_line(_summary(entry))}".rstrip())
        for warning in entry.prompt.warnings if entry.prompt else ():
            print(f"{'':<{width}}  warning: {clean_line(warning)}")
    if all(entry.origin == "built-in" for entry in entries) and not flags.tag:
        print("\nSave your own as NAME.md in one of these folders:")
        for directory in catalog.directories[:-1]:
            print(f"  {clean_line(str(directory.path))}")
    return 0


def _summary(entry: CatalogEntry) -> str:
    if entry.prompt is None:
        words = f"cannot be used: {entry.problem}"
    else:
        tags = " ".join(f"#{tag}" for tag in entry.prompt.matter.tags)
        words = "  ".join(part for part in (entry.prompt.description, tags) if part)
    if entry.hides:
        words += " (hides another of this name)"
    return f"{words} (hidden by another of this name)" if entry.hidden_by else words


def _show(flags: argparse.Namespace) -> int:
    entry, prompt = _catalog(flags).find(require_utf8(flags.name, "The name"))
    if flags.api:
        print_json(prompt=msgspec.structs.replace(_listed(entry), text=prompt.text))
        return 0
    print(
        f"{entry.name} ({entry.origin}){': ' if prompt.description else ''}{clean_line(prompt.description)}"
    )
    print(f"  file     {clean_line(entry.path)}")
    if entry.hides:
        print(f"  hides    {clean_line(entry.hides)}")
    print(f"  SHA-256  {prompt.digest}")
    for label, value in _run_facts(prompt.matter):
        print(f"  {label:<7}  {clean_line(value)}")
    for variable in prompt.variables:
        need = "required" if variable.default is None else f"default: {clean_line(variable.default)}"
        print(f"  {clean_line(f'{{{{ {variable.name} }}}} {variable.description}')} ({need})")
    for warning in prompt.warnings:
        print(f"  warning: {clean_line(warning)}")
    print(f"\n{clean(prompt.text)}")
    return 0


def _run_facts(matter: FrontMatter) -> list[tuple[str, str]]:
    facts = (
        ("version", matter.version),
        ("tags", ", ".join(matter.tags)),
        ("model", matter.model),
        ("mode", matter.mode),
        ("output", "" if matter.output == "chat" else matter.output),
        ("budget", str(matter.budget)),
    )
    return [(label, value) for label, value in facts if value]


def _render(flags: argparse.Namespace) -> int:
    text, provenance = _filled(flags)
    if flags.api:
        print_json(text=text, provenance=provenance)
        return 0
    # A pipe gets the text unchanged; on a terminal its escape sequences would act.
    print(clean(text) if sys.stdout.isatty() else text)
    return 0


def _filled(flags: argparse.Namespace) -> tuple[str, PromptProvenance]:
    filled = fill_prompt(flags)
    entry, values = filled.entry, filled.rendered
    return values.text, PromptProvenance(
        name=entry.name,
        path=entry.path,
        origin=entry.origin,
        digest=filled.prompt.digest,
        variables=values.given,
        session=values.session or msgspec.UNSET,
        defaults=values.defaults,
    )


def _catalog(flags: argparse.Namespace) -> PromptCatalog:
    return open_prompts(require_folder(flags.cwd), os.environ).catalog


def _listed(entry: CatalogEntry) -> ListedPrompt:
    about = ListedPrompt(
        name=entry.name,
        origin=entry.origin,
        path=entry.path,
        problem=entry.problem or None,
        hides=entry.hides or None,
        hidden_by=entry.hidden_by or None,
    )
    if entry.prompt is None:
        return about
    matter = entry.prompt.matter
    return msgspec.structs.replace(
        about,
        digest=entry.prompt.digest,
        description=matter.description,
        tags=matter.tags,
        version=matter.version,
        variables=matter.variables,
        model=matter.model,
        mode=matter.mode,
        output=matter.output,
        budget=str(matter.budget) or None,
        warnings=entry.prompt.warnings,
    )
