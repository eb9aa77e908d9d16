"""/fix: runs the project's formatters and linters, and lists the files they changed."""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from portico.domain.errors import InvalidInput
from portico.files.regular import read_regular
from portico.porter.commands.command import SlashCommand
from portico.porter.markdown import count, inline_code
from portico.porter.search.file_list import collect_files
from portico.porter.turn import PorterTurn
from portico.porter.workspace import is_folder
from portico.project.folder import ProjectCommand, ProjectFolder
from portico.project.formatters import ProjectFormatters, find_formatters

_LARGEST = 5 * 1024 * 1024
_MAX_NAMED = 30


async def run(turn: PorterTurn, argument: str) -> None:
    root = turn.workspace.root
    place = turn.workspace.place(argument) if argument.strip() else root
    shown = turn.workspace.shown(place)
    name = f"./{shown}" if shown.startswith("-") else shown
    suffix = "" if is_folder(place) else place.suffix
    tools = await asyncio.to_thread(find_formatters, ProjectFolder(root, turn.environ), name, suffix)
    if not tools.found:
        raise _none_found(tools)
    commands = ", then ".join(inline_code(str(tool)) for tool in tools.found)
    signs = ", ".join(dict.fromkeys(inline_code(tool.because) for tool in tools.found))
    await turn.say(f"According to {signs}, this project uses {commands}.")
    before = await _fingerprints(turn, place)
    for tool in tools.found:
        await _run_one(turn, tool)
    after = await _fingerprints(turn, place)
    await turn.say(_changes(turn, before, after))
    for note in tools.missing:
        await turn.say(f"Skipped: {note}.")


def _none_found(tools: ProjectFormatters) -> InvalidInput:
    if tools.missing:
        notes = "".join(f"\n- {note}" for note in tools.missing)
        return InvalidInput(f"The tools of this project are missing:\n{notes}")
    return InvalidInput(
        "No formatter or linter is configured here, so there is nothing to run.",
        suggestion="Porter knows ruff, black, prettier, eslint, gofmt, rustfmt, a `format` script in package.json "
        "and a `fmt` target in a Makefile.",
    )


async def _run_one(turn: PorterTurn, tool: ProjectCommand) -> None:
    line = str(tool)
    ended = await turn.run(tool.command, line, otherwise=f"{inline_code(line)} was not run.")
    if not ended.succeeded:
        last = next((one for one in reversed(ended.plain_output().split("\n")) if one.strip()), "")
        await turn.say(
            f"{inline_code(line)} ended with {ended}{f': {inline_code(last[:200])}' if last else ''}."
        )


async def _fingerprints(turn: PorterTurn, place: Path) -> dict[Path, bytes]:
    files = await collect_files(place, turn.environ)
    return await asyncio.to_thread(_hashes, files)


def _hashes(files: Sequence[Path]) -> dict[Path, bytes]:
    hashes: dict[Path, bytes] = {}
    for path in files:
        try:
            data = read_regular(path, limit=_LARGEST)
            hashes[path] = hashlib.blake2b(data, digest_size=16).digest()
        except OSError:
            continue
    return hashes


def _changes(turn: PorterTurn, before: dict[Path, bytes], after: dict[Path, bytes]) -> str:
    changed = [path for path in after if before.get(path) != after[path]]
    if not changed:
        return f"Nothing changed in {count(len(after), 'file')}."
    names = "\n".join(f"- {inline_code(turn.workspace.shown(path))}" for path in changed[:_MAX_NAMED])
    more = f"\n- … and {len(changed) - _MAX_NAMED} more" if len(changed) > _MAX_NAMED else ""
    return f"Changed {count(len(changed), 'file')}:\n\n{names}{more}"


COMMAND = SlashCommand(
    name="fix",
    purpose="run the formatter and the linter of this project",
    hint="[path]",
    run=run,
)
