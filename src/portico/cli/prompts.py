"""`portico prompts`: list, show, render and run prompt files."""

import argparse
import os
import sys
from collections.abc import Sequence

import msgspec

from portico.app.prompt_catalog import open_prompt_catalog
from portico.cli.arguments import CommandParser, require_folder, require_utf8
from portico.config.paths import expand_user_path
from portico.domain.errors import FileMissing, InvalidInput
from portico.doors.terminal.sanitizer import clean, clean_line
from portico.prompts.catalog import CatalogEntry, PromptCatalog, PromptOrigin
from portico.prompts.front_matter import PromptVariable

_DESCRIPTION = """Prompts that are kept as files: NAME.md in .portico/prompts, or in prompts of your configuration.

  portico prompts list
  portico prompts show NAME
  portico prompts render NAME --set language=French     print it, filled in
  git diff | portico prompts run NAME --input -         send it to an agent, as portico exec would
"""
_ACTIONS = {
    "list": "All prompts that there are for this folder, and what is wrong with those that cannot be used.",
    "show": "One prompt: its text, its variables, its file.",
    "render": "Print a prompt with its values filled in.",
    "run": "Fill a prompt in and send it to an agent. All options of portico exec hold.",
}


class ListedPrompt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A prompt as `--api` lists it. One with a problem cannot be used, one that is hidden is not."""

    name: str
    origin: PromptOrigin
    path: str
    digest: str | None = None
    description: str = ""
    variables: tuple[PromptVariable, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str | None
    hides: str | None
    hidden_by: str | None
    text: str | msgspec.UnsetType = msgspec.UNSET


class PromptProvenance(msgspec.Struct, frozen=True, kw_only=True):
    """Where a text came from: its file, and the values that it was made with."""

    name: str
    path: str
    origin: PromptOrigin
    digest: str
    variables: dict[str, str]
    defaults: dict[str, str]


def run(arguments: Sequence[str]) -> int:
    words = list(arguments)
    action = next((word for word in words if word != "--api"), "")
    if action not in _ACTIONS:
        parser = CommandParser("prompts", _DESCRIPTION)
        parser.add_argument("action", choices=_ACTIONS)
        parser.parse_args(words)
        raise InvalidInput("portico prompts needs an action first.", suggestion="See portico prompts --help")
    words.remove(action)
    parser = CommandParser(f"prompts {action}", _ACTIONS[action])
    if action != "list":
        parser.add_argument("name", metavar="NAME", help="a prompt, as portico prompts list names it")
    if action in ("render", "run"):
        _add_value_flags(parser)
    if action == "run":
        return _run(parser, words)
    parser.add_argument("--cwd", metavar="DIR", default=".", help="the folder to work in (default: this one)")
    flags = parser.parse_args(words)
    match action:
        case "list":
            _list(flags)
        case "show":
            _show(flags)
        case _:
            _render(flags)
    return 0


def _add_value_flags(parser: CommandParser) -> None:
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="the value of a variable; may be repeated",
    )
    parser.add_argument(
        "--set-file", metavar="KEY=FILE", action="append", default=[], help="the same, from a file"
    )
    parser.add_argument("--input", metavar="TEXT", help="the variable input; - reads it from standard input")


def _run(parser: CommandParser, words: list[str]) -> int:
    # Only now: what talks to agents takes a while to load.
    from portico.cli.exec import add_turn_flags, run_turn

    add_turn_flags(parser)
    flags = parser.parse_args(words)
    return run_turn(flags, lambda: _filled(flags)[0])


def _list(flags: argparse.Namespace) -> None:
    catalog = _catalog(flags)
    entries = catalog.entries()
    if flags.api:
        _print_json(prompts=[_listed(entry) for entry in entries], count=len(entries))
        return
    if not entries:
        print("There are no prompts. Write one as NAME.md in one of these folders:")
        print(f"  {clean_line(str(catalog.workspace_folder))}\n  {clean_line(str(catalog.user_folder))}")
        return
    width = max(len(clean_line(entry.name)) for entry in entries)
    for entry in entries:
        print(f"{clean_line(entry.name):<{width}}  {entry.origin:<9}  {clean_line(_summary(entry))}".rstrip())
        for warning in entry.prompt.warnings if entry.prompt else ():
            print(f"{'':<{width}}  warning: {clean_line(warning)}")


def _summary(entry: CatalogEntry) -> str:
    if entry.prompt is None:
        words = f"cannot be used: {entry.problem}"
    else:
        words = entry.prompt.description
    if entry.hides:
        words += " (hides the user's)"
    return f"{words} (hidden by the workspace's)" if entry.hidden_by else words


def _show(flags: argparse.Namespace) -> None:
    entry, prompt = _catalog(flags).find(require_utf8(flags.name, "The name"))
    if flags.api:
        _print_json(prompt=msgspec.structs.replace(_listed(entry), text=prompt.text))
        return
    print(
        f"{entry.name} ({entry.origin}){': ' if prompt.description else ''}{clean_line(prompt.description)}"
    )
    print(f"  file     {clean_line(entry.path)}")
    if entry.hides:
        print(f"  hides    {clean_line(entry.hides)}")
    print(f"  SHA-256  {prompt.digest}")
    for variable in prompt.variables:
        need = "required" if variable.default is None else f"default: {clean_line(variable.default)}"
        print(f"  {clean_line(f'{{{{ {variable.name} }}}} {variable.description}')} ({need})")
    for warning in prompt.warnings:
        print(f"  warning: {clean_line(warning)}")
    print(f"\n{clean(prompt.text)}")


def _render(flags: argparse.Namespace) -> None:
    text, provenance = _filled(flags)
    if flags.api:
        _print_json(text=text, provenance=provenance)
        return
    # What is piped on is the text itself; on a terminal, a file from elsewhere moves no cursor.
    print(clean(text) if sys.stdout.isatty() else text)


def _filled(flags: argparse.Namespace) -> tuple[str, PromptProvenance]:
    entry, prompt = _catalog(flags).find(require_utf8(flags.name, "The name"))
    filled = prompt.fill(entry.name, _values(flags))
    return filled.text, PromptProvenance(
        name=entry.name,
        path=entry.path,
        origin=entry.origin,
        digest=prompt.digest,
        variables=filled.given,
        defaults=filled.defaults,
    )


def _values(flags: argparse.Namespace) -> dict[str, str]:
    """The values that the flags give. InvalidInput for one that is none, or that is given twice."""
    values: dict[str, str] = {}
    given = [("--set", *_pair("--set", word)) for word in flags.set]
    given += [("--set-file", *_pair("--set-file", word)) for word in flags.set_file]
    given += [] if flags.input is None else [("--input", "input", flags.input)]
    for flag, key, word in given:
        if key in values:
            raise InvalidInput(f"{key} is given twice.", suggestion="Give each variable once.")
        values[key] = _value(flag, word)
    return values


def _pair(flag: str, word: str) -> tuple[str, str]:
    key, equals, value = require_utf8(word, f"What {flag} says").partition("=")
    if not key or not equals:
        what = "VALUE" if flag == "--set" else "FILE"
        raise InvalidInput(
            f"{flag} {word} is no KEY={what}.", suggestion=f"As in: {flag} input={what.lower()}"
        )
    return key, value


def _value(flag: str, word: str) -> str:
    if flag == "--set-file":
        return _decoded(_content(word), word)
    if flag == "--input" and word == "-":
        return _decoded(sys.stdin.buffer.read(), "What is on standard input")
    return require_utf8(word, f"What {flag} says")


def _content(name: str) -> bytes:
    try:
        return expand_user_path(name).read_bytes()
    except FileNotFoundError as error:
        raise FileMissing(
            f"There is no file {name}.", suggestion="Give --set-file a file that exists."
        ) from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidInput(f"{name} cannot be read: {why}.") from error


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{what} is not UTF-8 (byte {error.start + 1}).") from error


def _catalog(flags: argparse.Namespace) -> PromptCatalog:
    return open_prompt_catalog(require_folder(flags.cwd), os.environ)


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
    return msgspec.structs.replace(
        about,
        digest=entry.prompt.digest,
        description=entry.prompt.description,
        variables=entry.prompt.variables,
        warnings=entry.prompt.warnings,
    )


def _print_json(**values: object) -> None:
    print(msgspec.json.encode({"status": "ok", **values}).decode())
